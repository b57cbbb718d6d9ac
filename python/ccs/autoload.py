"""PyTorch's entry point `torch.backends`: PyTorch calls it at import, from 2.5 on, so that
init_process_group("ccs") needs no import. TORCH_DEVICE_BACKEND_AUTOLOAD=0 turns that off.
"""


def register() -> None:
    """Registers the back end, where this PyTorch has torch.distributed."""
    import torch.distributed

    if torch.distributed.is_available():
        from . import torch as _  # pylint: disable=unused-import
