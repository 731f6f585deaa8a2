"""Train a small convolutional network on the digits, on any number of processes.

`python -m train_aml.train_distributed --data DIR` in a traingate run.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F  # noqa: N812 - its name in every PyTorch script
from torch import Tensor

import train_aml
from train_aml import Network, Recipe, Sampler, Session, data, dataset_digest, model, shard
from train_aml.strategy import PRECISIONS, STRATEGIES, Precision, Strategy


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What one training differs in from another. The global batch is over all processes."""

    epochs: int
    global_batch_size: int
    learning_rate: float
    weight_decay: float
    label_smoothing: float
    seed: int
    strategy: Strategy
    precision: Precision
    accumulate: int
    clip_norm: float | None


def main() -> None:
    """The run, from its first line to its last."""
    options, settings = parse()
    with train_aml.session(
        checkpoints=options.checkpoints,
        checkpoint_every_seconds=options.checkpoint_every_seconds,
        stall_seconds=options.stall_seconds,
    ) as session:
        digits = session.local_first(lambda: data.load(options.data))
        parts = data.split(digits.to(session.device))
        session.describe(data_digest=dataset_digest(options.data), **asdict(settings))
        session.ready()
        network = train(session, parts, settings)
        accuracy, _ = evaluate(session, network, parts.test)
        session.register(
            network, example=parts.test.images[:4], metrics={"test_accuracy": accuracy}
        )


def train(session: Session, parts: data.Split, settings: Settings) -> Network:
    """Train, and return the network as it did best on the validation part."""
    network = session.wrap(
        model.make(settings.seed), strategy=settings.strategy, precision=settings.precision
    )
    optimizer = torch.optim.AdamW(
        network.parameters(),
        lr=settings.learning_rate,
        weight_decay=settings.weight_decay,
        fused=True,
    )
    sampler = Sampler(
        samples=len(parts.train),
        global_batch_size=settings.global_batch_size,
        seed=settings.seed,
        rank=session.ranks.rank,
        world_size=session.ranks.world_size,
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer,
        settings.learning_rate,
        total_steps=settings.epochs * sampler.steps_an_epoch,
        pct_start=0.2,
    )
    loop = session.loop(
        network,
        optimizer,
        Recipe(
            sampler=sampler,
            epochs=settings.epochs,
            schedule=schedule,
            accumulate=settings.accumulate,
            clip_norm=settings.clip_norm,
        ),
    )
    views, labels = data.ShiftedViews(parts.train.images), parts.train.labels
    for epoch in loop.epochs():
        places = views.draw(settings.seed, epoch.number)

        def loss_sum(index: Tensor, places: Tensor = places) -> Tensor:
            return F.cross_entropy(
                network(views.batch(places, index)),
                labels[index],
                label_smoothing=settings.label_smoothing,
                reduction="sum",
            )

        for batch in epoch.batches:
            loop.step(batch, loss_sum)
        accuracy, loss = evaluate(session, network, parts.validation)
        session.log(
            {"validation_accuracy": accuracy, "validation_loss": loss}, step=loop.step_count - 1
        )
        session.say(
            f"epoch {epoch.number + 1} of {settings.epochs}: "
            f"validation loss {loss:.4f}, accuracy {accuracy:.4f}"
        )
        # Not the accuracy: on so few samples it soon says 1.0 and then no more.
        loop.keep_if_best(-loss)
    loop.use_best()
    return network


@torch.no_grad()
def evaluate(session: Session, network: Network, digits: data.Digits) -> tuple[float, float]:
    """Accuracy and mean loss over `digits`, each sample counted once on one rank."""
    network.eval()
    mine = shard(len(digits), rank=session.ranks.rank, world_size=session.ranks.world_size)
    logits, labels = network.plain(digits.images[mine]), digits.labels[mine]
    correct = (logits.argmax(1) == labels).sum().double()
    loss = F.cross_entropy(logits, labels, reduction="sum").double()
    totals = session.sum(torch.stack([correct, loss])) / len(digits)
    return totals[0].item(), totals[1].item()


def parse() -> tuple[argparse.Namespace, Settings]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="folder that holds digits.npz")
    parser.add_argument("--checkpoints", help="folder that survives the node: a mounted output")
    parser.add_argument("--checkpoint-every-seconds", type=float, default=300.0)
    parser.add_argument("--stall-seconds", type=float, default=600.0)
    training = parser.add_argument_group("training")
    training.add_argument("--epochs", type=int, default=15)
    training.add_argument("--global-batch-size", type=int, default=64, help="over all processes")
    training.add_argument("--learning-rate", type=float, default=3e-3)
    training.add_argument("--weight-decay", type=float, default=0.05)
    training.add_argument("--label-smoothing", type=float, default=0.1)
    training.add_argument("--seed", type=int, default=0)
    training.add_argument("--strategy", choices=STRATEGIES, default="ddp")
    training.add_argument("--precision", choices=PRECISIONS, default="fp32")
    training.add_argument("--accumulate", type=int, default=1, help="parts of a batch")
    training.add_argument("--clip-norm", type=float)
    options = parser.parse_args()
    names = Settings.__dataclass_fields__
    return options, Settings(**{name: getattr(options, name) for name in names})


if __name__ == "__main__":
    main()
