"""Train on any number of processes: replace `load`, `make_model` and `loss_sum` by your own.

`jobs/README.md` says what the session takes care of.
"""

import argparse
import hashlib

import torch
import torch.nn.functional as F  # noqa: N812 - its name in every PyTorch script

import train_aml


def load() -> tuple[torch.Tensor, torch.Tensor]:
    """Your data: here 2,048 points of a plane with noise, the same on every rank."""
    random = torch.Generator().manual_seed(0)
    inputs = torch.randn(2048, 16, generator=random)
    noise = 0.1 * torch.randn(2048, 1, generator=random)
    return inputs, inputs.sum(dim=1, keepdim=True) + noise


def make_model() -> torch.nn.Module:
    """Your model, the same on every rank."""
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.GELU(), torch.nn.Linear(64, 1))


parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=5)
parser.add_argument("--checkpoints")
options = parser.parse_args()

with train_aml.session(checkpoints=options.checkpoints) as session:
    # Data of your own are an input of the job; `train_aml.dataset_digest(folder)` names them.
    inputs, targets = (part.to(session.device) for part in session.local_first(load))
    digest = hashlib.sha256(inputs.cpu().numpy().tobytes()).hexdigest()
    session.describe(data_digest=digest, epochs=options.epochs, learning_rate=1e-3)
    session.ready()

    network = session.wrap(make_model(), strategy="ddp")
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
    sampler = train_aml.Sampler(
        samples=len(inputs),
        global_batch_size=64,
        seed=0,
        rank=session.ranks.rank,
        world_size=session.ranks.world_size,
    )
    recipe = train_aml.Recipe(sampler=sampler, epochs=options.epochs)
    loop = session.loop(network, optimizer, recipe)

    def loss_sum(index: torch.Tensor) -> torch.Tensor:
        """The sum of the losses of these samples; the loop makes the mean of it."""
        return F.mse_loss(network(inputs[index]), targets[index], reduction="sum")

    for epoch in loop.epochs():
        for batch in epoch.batches:
            loop.step(batch, loss_sum)

    world = {"rank": session.ranks.rank, "world_size": session.ranks.world_size}
    with torch.no_grad():
        error = session.sum(loss_sum(train_aml.shard(len(inputs), **world))).item() / len(inputs)
    session.register(network, example=inputs[:4], metrics={"mean_squared_error": error})
