"""How a module's work is spread over the ranks: DDP, FSDP2 or not at all, behind one face."""

from __future__ import annotations

import contextlib
import copy
from typing import TYPE_CHECKING, Any, Literal

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor, nn

    from train_aml.ranks import Ranks

Strategy = Literal["ddp", "fsdp", "none"]
STRATEGIES: tuple[Strategy, ...] = ("ddp", "fsdp", "none")
Precision = Literal["fp32", "bf16"]
PRECISIONS: tuple[Precision, ...] = ("fp32", "bf16")

# FSDP and torch.distributed.checkpoint are imported where they are used: they bring the distributed
# tensors and with them a second of imports, which a plain DDP run should not wait for.


class Network:
    """A module as the ranks train it; call it as the module itself.

    `plain` is the module without a wrapper. Under FSDP its parameters are shards, and every rank
    must call it equally often.
    """

    def __init__(
        self,
        plain: nn.Module,
        wrapped: Callable[..., Any],
        skeleton: nn.Module | None,
        autocast: Callable[[], contextlib.AbstractContextManager[None]],
        *,
        sharded: bool = False,
    ) -> None:
        self.plain = plain
        self._wrapped = wrapped
        self._sharded = sharded
        self._skeleton = skeleton
        self._autocast = autocast

    def __call__(self, *inputs: Tensor) -> Any:
        with self._autocast():
            outputs = self._wrapped(*inputs)
        # Losses are summed over a batch, for which bfloat16 has too few digits.
        return outputs.float() if isinstance(outputs, torch.Tensor) else outputs

    def parameters(self) -> Iterator[nn.Parameter]:
        return self.plain.parameters()

    def train(self, mode: bool = True) -> None:  # noqa: FBT001, FBT002 - nn.Module's signature
        self.plain.train(mode)

    def eval(self) -> None:
        self.plain.eval()

    @contextlib.contextmanager
    def without_sync(self) -> Iterator[None]:
        """Gather gradients on this rank only, until a backward pass outside of this block."""
        if isinstance(self._wrapped, DistributedDataParallel):
            with self._wrapped.no_sync():
                yield
        elif self._sharded:
            self._wrapped.set_requires_gradient_sync(False)  # type: ignore[attr-defined]
            yield
            self._wrapped.set_requires_gradient_sync(True)  # type: ignore[attr-defined]
        else:
            yield

    def clip(self, norm: float) -> None:
        """Scale the gradients down to a total norm of `norm`, taken over all shards."""
        torch.nn.utils.clip_grad_norm_(self.plain.parameters(), norm)

    def full_state(self) -> dict[str, Any]:
        """The plain module's whole state on rank zero's CPU; every rank must call it."""
        if self._sharded:
            from torch.distributed.checkpoint.state_dict import (  # noqa: PLC0415 - see above
                StateDictOptions,
                get_model_state_dict,
            )

            options = StateDictOptions(full_state_dict=True, cpu_offload=True)
            return get_model_state_dict(self.plain, options=options)
        if self._skeleton is None:
            return {}
        return {
            name: value.detach().to("cpu", copy=True)
            for name, value in self.plain.state_dict().items()
        }

    def load_full_state(self, state: dict[str, Any]) -> None:
        """Give every rank the state that rank zero holds; every rank must call it."""
        if self._sharded:
            from torch.distributed.checkpoint.state_dict import (  # noqa: PLC0415 - see above
                StateDictOptions,
                set_model_state_dict,
            )

            options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
            set_model_state_dict(self.plain, state, options=options)
            return
        if self._skeleton is not None:
            self.plain.load_state_dict(state)
        if dist.is_initialized():
            for value in self.plain.state_dict().values():
                dist.broadcast(value, src=0)

    def training_state(self, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
        """This rank's part of model and optimizer, named so that any strategy can load it."""
        from torch.distributed.checkpoint.state_dict import get_state_dict  # noqa: PLC0415 - see above

        model, optimizer_state = get_state_dict(self.plain, optimizer)
        return {"model": model, "optimizer": optimizer_state}

    def load_training_state(self, optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> None:
        """Take over what `training_state` gave, possibly under another strategy."""
        from torch.distributed.checkpoint.state_dict import set_state_dict  # noqa: PLC0415 - see above

        set_state_dict(
            self.plain,
            optimizer,
            model_state_dict=state["model"],
            optim_state_dict=state["optimizer"],
        )

    def export(self) -> nn.Module | None:
        """The whole plain module in eval mode on rank zero's CPU, None elsewhere.

        Every rank must call it.
        """
        state = self.full_state()
        if self._skeleton is None:
            return None
        self._skeleton.load_state_dict(state)
        return self._skeleton.eval()


def wrap(
    module: nn.Module,
    ranks: Ranks,
    device: torch.device,
    *,
    strategy: Strategy,
    precision: Precision,
    **options: Any,
) -> Network:
    """Move `module` to the device and spread it over the ranks.

    `options` go to DistributedDataParallel or fully_shard. A single process needs no DDP.
    """
    # FSDP changes the module in place, and the registered model is the plain one.
    skeleton = copy.deepcopy(module) if ranks.is_zero else None
    plain = module.to(device)
    autocast: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext
    if precision == "bf16" and strategy != "fsdp":
        autocast = lambda: torch.autocast(device.type, dtype=torch.bfloat16)  # noqa: E731
    if strategy == "fsdp":
        _shard(plain, precision, options)
        return Network(plain, plain, skeleton, autocast, sharded=True)
    if strategy == "ddp" and ranks.world_size > 1:
        ids = [device] if device.type == "cuda" else None
        wrapped = DistributedDataParallel(
            plain, device_ids=ids, **{"gradient_as_bucket_view": True, **options}
        )
        return Network(plain, wrapped, skeleton, autocast)
    return Network(plain, plain, skeleton, autocast)


def _shard(module: nn.Module, precision: Precision, options: dict[str, Any]) -> None:
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard  # noqa: PLC0415 - see above

    if precision == "bf16":
        # The sums over ranks and the outputs stay in float32: losses are taken from them.
        options = {
            "mp_policy": MixedPrecisionPolicy(
                param_dtype=torch.bfloat16,
                reduce_dtype=torch.float32,
                output_dtype=torch.float32,
            ),
            **options,
        }
    for unit in _units(module):
        fully_shard(unit, **options)
    fully_shard(module, **options)


def _units(module: nn.Module) -> list[nn.Module]:
    """What is gathered together: the layers of a list of layers, else the direct children."""
    lists = [m for m in module.modules() if isinstance(m, torch.nn.ModuleList)]
    candidates = [layer for each in lists for layer in each] or list(module.children())
    return [m for m in candidates if any(True for _ in m.parameters())]
