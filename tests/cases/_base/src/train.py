"""A stand-in for a training script; only its name and its imports matter to the gate."""

import torch.distributed


def main() -> None:
    torch.distributed.init_process_group("nccl")


if __name__ == "__main__":
    main()
