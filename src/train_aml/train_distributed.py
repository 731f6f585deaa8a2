"""Train a small convolutional network on the digits, on any number of processes.

`python -m train_aml.train_distributed --data DIR` in a traingate run.
"""

from __future__ import annotations

import argparse
import copy
from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F  # noqa: N812 - its name in every PyTorch script
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

import train_aml
from train_aml import data, model
from train_aml.provenance import dataset_digest
from train_aml.sampler import Sampler, shard
from train_aml.session import LOSS_METRIC, Session


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What one training differs in from another. The global batch is over all processes."""

    epochs: int
    global_batch_size: int
    learning_rate: float
    weight_decay: float
    label_smoothing: float
    seed: int


def train(session: Session, digits: data.Split, settings: Settings) -> tuple[nn.Module, float]:
    """Train, and return the module of the epoch that did best on the validation part."""
    world_size = session.ranks.world_size
    sampler = Sampler(
        samples=len(digits.train),
        global_batch_size=settings.global_batch_size,
        seed=settings.seed,
        rank=session.ranks.rank,
        world_size=world_size,
    )
    network = model.make(settings.seed).to(session.device)
    wrapped = (
        DistributedDataParallel(network, static_graph=True, gradient_as_bucket_view=True)
        if world_size > 1
        else network
    )
    optimizer = torch.optim.AdamW(
        network.parameters(),
        lr=settings.learning_rate,
        weight_decay=settings.weight_decay,
        fused=True,
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer,
        settings.learning_rate,
        total_steps=settings.epochs * sampler.steps_an_epoch,
        pct_start=0.2,
    )
    views = data.ShiftedViews(digits.train.images)
    best, best_accuracy, best_loss = network, 0.0, float("inf")
    for epoch in range(settings.epochs):
        places = views.draw(settings.seed, epoch)
        losses: list[Tensor] = []
        sizes: list[int] = []
        wrapped.train()
        for batch in sampler.epoch(epoch):
            loss = F.cross_entropy(
                wrapped(views.batch(places, batch.index)),
                digits.train.labels[batch.index],
                label_smoothing=settings.label_smoothing,
                reduction="sum",
            )
            optimizer.zero_grad()
            # DDP averages over the ranks; their parts differ in size, so each counts its samples.
            (loss * world_size / batch.size).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
            losses.append(loss.detach())
            sizes.append(batch.size)
        log_losses(session, torch.stack(losses), sizes, epoch)
        accuracy, validation_loss = evaluate(session, network, digits.validation)
        step = (epoch + 1) * sampler.steps_an_epoch - 1
        session.log(
            {"validation_accuracy": accuracy, "validation_loss": validation_loss}, step=step
        )
        # The loss decides: the accuracy on so few samples soon says 1.0 and then no more.
        if validation_loss < best_loss:
            best, best_accuracy, best_loss = copy.deepcopy(network), accuracy, validation_loss
    return best, best_accuracy


def log_losses(session: Session, losses: Tensor, sizes: list[int], epoch: int) -> None:
    """Log each step's mean loss over all ranks, from this rank's sums; and the epoch's."""
    totals = session.sum(losses).tolist()
    first = epoch * len(totals)
    for step, (total, size) in enumerate(zip(totals, sizes, strict=True), start=first):
        session.log({LOSS_METRIC: total / size}, step=step)
    session.log({"epoch_loss": sum(totals) / sum(sizes)}, step=first + len(totals) - 1)


@torch.no_grad()
def evaluate(session: Session, network: nn.Module, digits: data.Digits) -> tuple[float, float]:
    """Accuracy and mean loss over `digits`, each sample counted once on one rank."""
    network.eval()
    mine = shard(len(digits), rank=session.ranks.rank, world_size=session.ranks.world_size)
    logits, labels = network(digits.images[mine]), digits.labels[mine]
    correct = (logits.argmax(1) == labels).sum().double()
    loss = F.cross_entropy(logits, labels, reduction="sum").double()
    totals = session.sum(torch.stack([correct, loss])) / len(digits)
    return totals[0].item(), totals[1].item()


def parse() -> tuple[str, Settings]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="folder that holds digits.npz")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--global-batch-size", type=int, default=64, help="over all processes")
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    parser.add_argument("--weight-decay", type=float, default=0.05)
    parser.add_argument("--label-smoothing", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=0)
    options = vars(parser.parse_args())
    return options.pop("data"), Settings(**options)


def main() -> None:
    """The run, from the first line to the last."""
    folder, settings = parse()
    with train_aml.session() as session:
        digits = session.local_first(lambda: data.load(folder)).to(session.device)
        parts = data.split(digits)
        session.describe(data_digest=dataset_digest(folder), **asdict(settings))
        session.ready()
        best, validation_accuracy = train(session, parts, settings)
        accuracy, _ = evaluate(session, best, parts.test)
        session.register(
            best,
            example=parts.test.images[:4],
            metrics={"test_accuracy": accuracy, "validation_accuracy": validation_accuracy},
        )


if __name__ == "__main__":
    main()
