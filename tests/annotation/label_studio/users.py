"""Run by the Python of Label Studio: adds users to a server's database, each with a password and a legacy token."""

import json
import os
import sys
from importlib.util import find_spec


def add(users: list[tuple[str, str, str]]) -> None:
    """Add users to the first organisation."""
    import django  # type: ignore[import-not-found]

    django.setup()
    from organizations.models import Organization  # type: ignore[import-not-found]
    from rest_framework.authtoken.models import Token  # type: ignore[import-not-found]
    from users.models import User  # type: ignore[import-not-found]

    organization = Organization.objects.first()
    for email, password, key in users:
        user = User.objects.create_user(email=email, password=password)
        organization.add_user(user)
        user.active_organization = organization
        user.save(update_fields=["active_organization"])
        Token.objects.filter(user=user).delete()
        Token.objects.create(user=user, key=key)


if __name__ == "__main__":
    spec = find_spec("label_studio")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    sys.path[0] = spec.submodule_search_locations[0]
    os.environ["DJANGO_SETTINGS_MODULE"] = "label_studio.core.settings.label_studio"
    add(json.load(sys.stdin))
