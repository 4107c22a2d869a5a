"""A step of ResNet-50 and one of the course's transformer, in float32 and under autocast in bfloat16 and float16.

ResNet-50 keeps its images as NHWC (torch: channels_last), the layout that tensor cores take; with NCHW, torch's own,
most of a step in 16 bits goes into turning the layout around and into slower kernels for batch normalisation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.flop_counter import FlopCounterMode

from gpu_check.devices import FLOAT32, HALVES, SIXTEEN, TF32, fitting, name_of, peak, seconds_of
from gpu_check.models import resnet50
from gpu_check.setting import Setting
from gpu_check.table import Row, judged, measured, not_run
from labkit.models import gpt

NEAR = 0.05  # of the loss: how far a 16-bit forward pass may be from float32
NEAR_SMALL = 0.5  # where batch normalisation has four numbers to average over
DTYPES = ("float32", *HALVES)


@dataclass(frozen=True)
class Work:
    """A model to be trained. make: returns it, new and always the same. batch: (size, device) -> inputs and labels.
    flops: of a step, for each of its units (an image, a token). units: in one sample. layout: of its images. float32:
    the format in which its float32 products are computed unless somebody asks for another."""

    name: str
    unit: str
    units: int
    size: int
    make: Callable[[], nn.Module]
    batch: Callable[[int, torch.device], tuple[Tensor, Tensor]]
    flops: float
    layout: torch.memory_format = torch.contiguous_format
    float32: str = FLOAT32


def rows(setting: Setting, rank: int, world: int) -> Iterator[Row]:
    """For each model and each dtype its rate and, for the transformer, its MFU."""
    for work in (resnet_work(setting.small), gpt_work(setting.small)):
        yield from work_rows(work, setting)


def work_rows(work: Work, setting: Setting) -> Iterator[Row]:
    """The rates of one model, all with the batch that fits in float32, how far the first losses are apart, and what the
    layout of images is worth."""
    device, name, size = torch.device(setting.device), name_of(setting), work.size
    for dtype in DTYPES:
        if dtype == "bfloat16" and device.type == "cuda" and not torch.cuda.is_bf16_supported():
            yield not_run(f"{work.name}, {dtype}", "this device has no bfloat16")
            continue
        size, (loss, seconds) = fitting(size, partial(timed, work, dtype, device, setting))
        products = work.float32 if dtype == "float32" else SIXTEEN
        rate, top = size * work.units / seconds, peak(name, products, setting.peak)
        if dtype == "float32":
            first, whole = loss, seconds
        yield rate_row(work, dtype, size, rate, top)
        yield use_row(work, dtype, rate, top, products)
        if dtype != "float32":
            yield loss_row(work, dtype, loss, first, NEAR_SMALL if setting.small else NEAR)
            gain, bound = whole / seconds, ratio_of_peaks(name, work.float32, setting)
            yield measured(f"{work.name}, {dtype}: gain", gain, "", bound, f"{gain:.2f} times float32's rate")
        if dtype == "bfloat16" and work.layout != torch.contiguous_format:
            turned = timed(replace(work, layout=torch.contiguous_format), dtype, device, setting, size)[1]
            yield layout_row(work, dtype, seconds / turned)


def loss_row(work: Work, dtype: str, loss: float, first: float, near: float) -> Row:
    """loss, first: of the first step, in 16 bits and in float32. near: how far they may be apart, of the latter."""
    apart = abs(loss - first) / abs(first)  # not a number is not near
    what = f"{work.name}, {dtype}: first loss"
    return judged(what, apart <= near, f"{apart:.1%} from float32's", f"at most {near:.0%}", apart)


def layout_row(work: Work, dtype: str, share: float) -> Row:
    """share: the rate with NCHW over that with NHWC."""
    said = f"{share:.2f} times NHWC's rate"
    return measured(f"{work.name}, {dtype}: NCHW", share, "", "below 1 with tensor cores", said)


def rate_row(work: Work, dtype: str, size: int, rate: float, top: float | None) -> Row:
    """Units per second, beside what the peak would allow."""
    bound = "peak unknown: no bound" if top is None else f"at most {top / work.flops:,.0f} by the peak"
    return measured(f"{work.name}, {dtype}, batch {size}", rate, f"{work.unit}s/s", bound)


def use_row(work: Work, dtype: str, rate: float, top: float | None, products: str) -> Row:
    """The MFU, of the peak in which the products are computed."""
    what = f"{work.name}, {dtype}: MFU"
    used = mfu(work.flops, rate, top)
    if used is None:
        return measured(what, None, "", "no peak known: --peak TFLOPS")
    expected = "below 100 %" if used < 1 else "below 100 %: the peak or the clock is wrong"
    return measured(what, used, "", expected, f"{used:.1%} of {top / 1e12:,.4g} TFLOP/s, {products}")


def mfu(flops: float, rate: float, top: float | None) -> float | None:
    """The model FLOPs utilisation: FLOPs for a unit (for a token 6 N: 2 N forward, 4 N backward) times units per
    second, over the device's peak in FLOP/s; None where that is not known."""
    return None if top is None else flops * rate / top


def ratio_of_peaks(name: str, products: str, setting: Setting) -> str:
    """The most that 16 bits can gain over float32 whose products are computed in that format."""
    half, whole = peak(name, SIXTEEN, setting.peak), peak(name, products, setting.peak)
    return f"at most {half / whole:.1f}, as the peaks" if half and whole else "above 1 with tensor cores"


def timed(work: Work, dtype: str, device: torch.device, setting: Setting, size: int) -> tuple[float, float]:
    """The loss of the first step and the seconds of a step, `size` samples in each."""
    torch.manual_seed(0)
    model = work.make().to(device, memory_format=work.layout)
    x, y = work.batch(size, device)
    x = x.contiguous(memory_format=work.layout)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    scaler = torch.amp.GradScaler(device.type, enabled=dtype == "float16")

    def step() -> Tensor:
        optimizer.zero_grad()
        with torch.autocast(device.type, HALVES.get(dtype), enabled=dtype in HALVES):
            loss = cross_entropy(model(x).flatten(0, -2), y.flatten())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    loss = float(step())
    return loss, seconds_of(step, device, warmup=1 if setting.small else 5)


def resnet_work(small: bool) -> Work:
    """ResNet-50 at 224 x 224; small: an eighth as wide at 32 x 32."""
    width, side, size = (8, 32, 4) if small else (64, 224, 256)
    make = partial(resnet50, 10 if small else 1000, width)

    def batch(count: int, device: torch.device) -> tuple[Tensor, Tensor]:
        images, labels = torch.rand(count, 3, side, side), torch.randint(10, (count,))
        return images.to(device), labels.to(device)

    with torch.device("meta"), FlopCounterMode(display=False) as counted:
        make().eval()(torch.empty(1, 3, side, side))
    flops = 3.0 * counted.get_total_flops()
    return Work("ResNet-50", "image", 1, size, make, batch, flops, torch.channels_last, TF32)


def gpt_work(small: bool) -> Work:
    """The course's transformer with the sizes of GPT-2's smallest; small: two layers of width 64."""
    sizes = {"vocabulary": 50_304, "context": 1024, "width": 768, "heads": 12, "layers": 12}
    if small:
        sizes = {"vocabulary": 96, "context": 32, "width": 64, "heads": 4, "layers": 2}
    context, vocabulary = sizes["context"], sizes["vocabulary"]

    def batch(count: int, device: torch.device) -> tuple[Tensor, Tensor]:
        tokens = torch.randint(vocabulary, (count, context + 1)).to(device)
        return tokens[:, :-1], tokens[:, 1:]

    with torch.device("meta"):
        flops = 6.0 * multiplied(gpt(**sizes))
    return Work("GPT", "token", context, 2 if small else 8, partial(gpt, **sizes), batch, flops)


def multiplied(model: nn.Module) -> int:
    """N of 6 N: the parameters, without the tables that are only looked up (tokens and places)."""
    tables = sum(p.numel() for m in model.modules() if isinstance(m, nn.Embedding) for p in m.parameters())
    return sum(p.numel() for p in model.parameters()) - tables
