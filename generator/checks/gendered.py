"""Words that name a gender where gender is tested."""

from collections.abc import Iterator

from senseprobe.generator.blocks import Config, ResolvedBlock
from senseprobe.generator.checks.reading import finding, some
from senseprobe.generator.checks.registry import Subject, on_config
from senseprobe.records import Finding

# Occupations and ranks in a form for one gender, with one for all where English has it.
_GENDERED = {
    "actor": "performer", "actress": "performer", "alderman": "", "anchorman": "anchor", "barmaid": "bartender",
    "barman": "bartender", "baron": "", "baroness": "", "businessman": "business person",
    "businesswoman": "business person", "cameraman": "camera operator", "chairman": "chair", "chairwoman": "chair",
    "chambermaid": "cleaner", "cleaning lady": "cleaner", "comedienne": "comedian", "congressman": "legislator",
    "congresswoman": "legislator", "countess": "", "craftsman": "artisan", "duchess": "", "duke": "",
    "emperor": "ruler", "empress": "ruler", "fireman": "firefighter", "fisherman": "fisher", "foreman": "supervisor",
    "governess": "tutor", "handyman": "repairer", "headmaster": "head teacher", "headmistress": "head teacher",
    "heiress": "heir", "hostess": "host", "king": "monarch", "landlady": "property owner", "landlord": "property owner",
    "mailman": "mail carrier", "maid": "cleaner", "masseur": "massage therapist", "masseuse": "massage therapist",
    "midwife": "", "milkman": "", "monk": "", "nun": "", "poetess": "poet", "policeman": "police officer",
    "policewoman": "police officer", "postman": "mail carrier", "postmaster": "", "postmistress": "",
    "priestess": "priest", "prince": "", "princess": "", "queen": "monarch", "repairman": "repairer",
    "salesman": "salesperson", "saleswoman": "salesperson", "seamstress": "sewer", "serviceman": "service member",
    "servicewoman": "service member", "sorceress": "sorcerer", "spokesman": "spokesperson",
    "spokeswoman": "spokesperson", "sportsman": "athlete", "sportswoman": "athlete", "statesman": "",
    "steward": "flight attendant", "stewardess": "flight attendant", "waiter": "server", "waitress": "server",
    "watchman": "guard", "weatherman": "forecaster", "workman": "worker",
}  # fmt: skip


@on_config("W403")
def gendered_word(subject: Subject) -> Iterator[Finding]:
    """A word names a gender already where the config tests which gender a model takes for granted.

    *Actor* and *waiter* are two of the 164 occupations of Dev et al. (UPSTREAM 3.1): that a model takes a waiter for a
    man says nothing of its stereotypes. Looked at are the words of the target and those that roles bind. Leave such
    words out with `where`, or take a form for all.
    """
    if "gender" in subject.config.blocks[0].block.front.bias_type:
        yield from dict.fromkeys(one for block in subject.config.blocks for one in _gendered(subject.config, block))


def _gendered(config: Config, block: ResolvedBlock) -> Iterator[Finding]:
    front = block.block.front
    slots = {slot for role, names in block.roles.items() for slot in block.reads(role, names)}
    for slot in block.slots:
        found = [word for word in dict.fromkeys(block.slots[slot]) if word in _GENDERED]
        if found and (slot in slots or slot == front.target):
            forms = sorted({_GENDERED[word] for word in found} - {""})
            hint = "leave them out with `where`" + (f", or say {some(forms)}" if forms else "")
            message = f"{slot} has words that name a gender: {some(found)}"
            yield finding(config, block.block.place("slots", slot), "W403", message, hint)
