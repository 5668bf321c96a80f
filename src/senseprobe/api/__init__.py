"""What researchers call from notebooks; also the place where rooms that may not import each other work together."""

from senseprobe.api.author import open_catalogue
from senseprobe.api.building import build, restore, verify
from senseprobe.api.hub import publish, pull, why_unpublishable
from senseprobe.api.imports import ImportedProject, import_project, import_release, makes_project, read_import
from senseprobe.api.models import model, source_of, vectors, vectors_of
from senseprobe.api.packages import fetch
from senseprobe.api.releases import build_shard, diff, full_name, join, load, verified, verify_shard
from senseprobe.api.scoring import estimate, plant, replay, score
from senseprobe.api.scoring_jobs import draft
from senseprobe.api.windows import (
    ScorePlan,
    ShardSummary,
    join_scores,
    plan_scores,
    planned_release,
    score_shard,
)
from senseprobe.api.word_senses import show_senses
from senseprobe.api.workers import take_workers, workers
from senseprobe.progress import Step, progress_bar

__all__ = [
    "ImportedProject",
    "ScorePlan",
    "ShardSummary",
    "Step",
    "build",
    "build_shard",
    "diff",
    "draft",
    "estimate",
    "fetch",
    "full_name",
    "import_project",
    "import_release",
    "join",
    "join_scores",
    "load",
    "makes_project",
    "model",
    "open_catalogue",
    "plan_scores",
    "planned_release",
    "plant",
    "progress_bar",
    "publish",
    "pull",
    "read_import",
    "replay",
    "restore",
    "score",
    "score_shard",
    "show_senses",
    "source_of",
    "take_workers",
    "vectors",
    "vectors_of",
    "verified",
    "verify",
    "verify_shard",
    "why_unpublishable",
    "workers",
]
