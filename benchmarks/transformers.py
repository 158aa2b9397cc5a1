"""
Transformers and perceptrons of the benchmark, as torch modules.

Attention is spelled out (product, scale, softmax, product, with heads split by reshape and
transpose), because exporters write it so. Weights are random, normal with deviation 0.02 as their
authors start training; layer norms keep the activations in range.
"""

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Size:
    """The dimensions of a transformer."""

    width: int
    layers: int
    heads: int
    tokens: int

    @property
    def head_width(self) -> int:
        """Elements per head."""
        return self.width // self.heads


def split_heads(x: Tensor, size: Size) -> Tensor:
    """Batch × tokens × width to batch × heads × tokens × head width."""
    return x.view(x.shape[0], x.shape[1], size.heads, size.head_width).transpose(1, 2)


def join_heads(x: Tensor, size: Size) -> Tensor:
    """The inverse of `split_heads`."""
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], size.width)


def seeded(model: nn.Module) -> nn.Module:
    """The model for inference, with normal weights, and layer norms that do something."""
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Embedding | nn.Conv2d):
            nn.init.normal_(module.weight, 0, 0.02)
        if isinstance(module, nn.LayerNorm):
            nn.init.uniform_(module.weight, 0.8, 1.2)
        if isinstance(module, nn.Linear | nn.LayerNorm | nn.Conv2d) and module.bias is not None:
            nn.init.normal_(module.bias, 0, 0.02)
    return model.eval()


# -- BERT ---------------------------------------------------------------------------------------

BERT = Size(width=768, layers=12, heads=12, tokens=128)
BERT_WORDS = 30522


class BertLayer(nn.Module):
    """Attention and two dense layers, each with its residual and then its layer norm."""

    def __init__(self, size: Size):
        super().__init__()
        self.size = size
        self.query = nn.Linear(size.width, size.width)
        self.key = nn.Linear(size.width, size.width)
        self.value = nn.Linear(size.width, size.width)
        self.output = nn.Linear(size.width, size.width)
        self.attention_norm = nn.LayerNorm(size.width, eps=1e-12)
        self.wide = nn.Linear(size.width, 4 * size.width)
        self.narrow = nn.Linear(4 * size.width, size.width)
        self.norm = nn.LayerNorm(size.width, eps=1e-12)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """`mask` is added to the scores of attention."""
        query = split_heads(self.query(x), self.size)
        key = split_heads(self.key(x), self.size)
        value = split_heads(self.value(x), self.size)
        scores = query @ key.transpose(-1, -2) / self.size.head_width**0.5
        attention = join_heads(torch.softmax(scores + mask, -1) @ value, self.size)
        x = self.attention_norm(x + self.output(attention))
        return self.norm(x + self.narrow(nn.functional.gelu(self.wide(x))))


class Bert(nn.Module):
    """
    BERT-base, uncased vocabulary (Devlin et al., 2018, arXiv:1810.04805): word, position and type
    embeddings, twelve layers, and the pooler over the first token.
    """

    def __init__(self, size: Size = BERT):
        super().__init__()
        self.words = nn.Embedding(BERT_WORDS, size.width)
        self.positions = nn.Embedding(512, size.width)
        self.types = nn.Embedding(2, size.width)
        self.norm = nn.LayerNorm(size.width, eps=1e-12)
        self.layers = nn.ModuleList(BertLayer(size) for _ in range(size.layers))
        self.pooler = nn.Linear(size.width, size.width)

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor) -> tuple[Tensor, Tensor]:
        """Hidden states and pooled output, from int64 tokens, mask (1: attend) and types."""
        places = torch.arange(ids.shape[1]).unsqueeze(0)
        x = self.norm(self.words(ids) + self.types(types) + self.positions(places))
        lowest = torch.finfo(torch.float32).min
        added = (1.0 - mask[:, None, None, :].to(torch.float32)) * lowest
        for layer in self.layers:
            x = layer(x, added)
        return x, torch.tanh(self.pooler(x[:, 0]))


def bert_base() -> nn.Module:
    """See `Bert`."""
    return seeded(Bert())


# -- ViT ----------------------------------------------------------------------------------------

VIT = Size(width=384, layers=12, heads=6, tokens=197)
PATCH = 16


class VitLayer(nn.Module):
    """Layer norm before attention and before the dense layers; one product for Q, K and V."""

    def __init__(self, size: Size):
        super().__init__()
        self.size = size
        self.attention_norm = nn.LayerNorm(size.width, eps=1e-6)
        self.qkv = nn.Linear(size.width, 3 * size.width)
        self.output = nn.Linear(size.width, size.width)
        self.norm = nn.LayerNorm(size.width, eps=1e-6)
        self.wide = nn.Linear(size.width, 4 * size.width)
        self.narrow = nn.Linear(4 * size.width, size.width)

    def forward(self, x: Tensor) -> Tensor:
        """The next hidden state."""
        size = self.size
        batch, tokens, _ = x.shape
        qkv = self.qkv(self.attention_norm(x)).reshape(
            batch, tokens, 3, size.heads, size.head_width
        )
        query, key, value = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        scores = (query * size.head_width**-0.5) @ key.transpose(-2, -1)
        x = x + self.output(join_heads(torch.softmax(scores, -1) @ value, size))
        return x + self.narrow(nn.functional.gelu(self.wide(self.norm(x))))


class Vit(nn.Module):
    """ViT-S/16 for 224×224 images (arXiv:2010.11929, size S of arXiv:2012.12877)."""

    def __init__(self, size: Size = VIT):
        super().__init__()
        self.patches = nn.Conv2d(3, size.width, PATCH, PATCH)
        self.first = nn.Parameter(torch.randn(1, 1, size.width) * 0.02)
        self.positions = nn.Parameter(torch.randn(1, size.tokens, size.width) * 0.02)
        self.layers = nn.ModuleList(VitLayer(size) for _ in range(size.layers))
        self.norm = nn.LayerNorm(size.width, eps=1e-6)
        self.head = nn.Linear(size.width, 1000)

    def forward(self, image: Tensor) -> Tensor:
        """Logits."""
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat((self.first.expand(x.shape[0], -1, -1), x), 1) + self.positions
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)[:, 0])


def vit_s16() -> nn.Module:
    """See `Vit`."""
    return seeded(Vit())


# -- GPT-2 --------------------------------------------------------------------------------------

GPT2 = Size(width=768, layers=12, heads=12, tokens=64)
GPT2_WORDS = 50257
GPT2_CONTEXT = 1024


class Gpt2Layer(nn.Module):
    """Causal attention and two dense layers, each after its layer norm; GELU by tanh."""

    causal: Tensor

    def __init__(self, size: Size):
        super().__init__()
        self.size = size
        self.attention_norm = nn.LayerNorm(size.width)
        self.qkv = nn.Linear(size.width, 3 * size.width)
        self.output = nn.Linear(size.width, size.width)
        self.norm = nn.LayerNorm(size.width)
        self.wide = nn.Linear(size.width, 4 * size.width)
        self.narrow = nn.Linear(4 * size.width, size.width)
        lower = torch.ones(GPT2_CONTEXT, GPT2_CONTEXT, dtype=torch.bool).tril()
        self.register_buffer("causal", lower[None, None], persistent=False)

    def heads(self, x: Tensor) -> list[Tensor]:
        """Queries, keys and values of a hidden state."""
        qkv = self.qkv(self.attention_norm(x)).split(self.size.width, 2)
        return [split_heads(each, self.size) for each in qkv]

    def rest(self, x: Tensor, scores: Tensor, value: Tensor) -> Tensor:
        """The next hidden state, from scores that are masked."""
        x = x + self.output(join_heads(torch.softmax(scores, -1) @ value, self.size))
        wide = nn.functional.gelu(self.wide(self.norm(x)), approximate="tanh")
        return x + self.narrow(wide)

    def forward(self, x: Tensor) -> Tensor:
        """The next hidden state."""
        query, key, value = self.heads(x)
        scores = query @ key.transpose(-1, -2) / self.size.head_width**0.5
        tokens = x.shape[1]
        lowest = torch.full([], torch.finfo(torch.float32).min)
        scores = torch.where(self.causal[:, :, :tokens, :tokens], scores, lowest)
        return self.rest(x, scores, value)

    def decode(self, x: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The next hidden state of one token behind others, with the keys and values of these, and all of both."""
        query, *new = self.heads(x)
        key, value = torch.cat((key, new[0]), 2), torch.cat((value, new[1]), 2)
        scores = query @ key.transpose(-1, -2) / self.size.head_width**0.5
        return self.rest(x, scores, value), key, value


class Gpt2(nn.Module):
    """GPT-2 small with its language-model head, which shares the word embedding's weights."""

    def __init__(self, size: Size = GPT2):
        super().__init__()
        self.words = nn.Embedding(GPT2_WORDS, size.width)
        self.positions = nn.Embedding(GPT2_CONTEXT, size.width)
        self.layers = nn.ModuleList(Gpt2Layer(size) for _ in range(size.layers))
        self.norm = nn.LayerNorm(size.width)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits of the next token after each token, from int64 tokens. No cache of the past."""
        x = self.words(ids) + self.positions(torch.arange(ids.shape[1]).unsqueeze(0))
        for layer in self.layers:
            x = layer(x)
        return nn.functional.linear(self.norm(x), self.words.weight)


class Gpt2Decoder(Gpt2):
    """GPT-2 small for one token at a time: `past` are the keys and values of each layer, of all tokens before."""

    def forward(self, ids: Tensor, *past: Tensor) -> tuple[Tensor, ...]:
        """Logits of the next token, and the keys and values with those of this token behind."""
        x = self.words(ids) + self.positions(past[0].shape[2] + torch.arange(1).unsqueeze(0))
        present: list[Tensor] = []
        for layer, key, value in zip(self.layers, past[::2], past[1::2], strict=True):
            assert isinstance(layer, Gpt2Layer)
            x, *kept = layer.decode(x, key, value)
            present += kept
        return nn.functional.linear(self.norm(x), self.words.weight), *present


def gpt2_small() -> nn.Module:
    """See `Gpt2`."""
    return seeded(Gpt2())


def gpt2_decoder() -> nn.Module:
    """See `Gpt2Decoder`."""
    return seeded(Gpt2Decoder())


# -- perceptron ---------------------------------------------------------------------------------

MLP_WIDTHS = (784, 2048, 2048, 10)


def mlp() -> nn.Module:
    """A perceptron with two hidden layers of 2048, with He's initialisation."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(MLP_WIDTHS):
        linear = nn.Linear(inputs, outputs)
        nn.init.kaiming_normal_(linear.weight)
        layers += [linear, nn.ReLU()]
    return nn.Sequential(*layers[:-1]).eval()
