"""A small network for PyTorch, and the loop that trains it."""

from __future__ import annotations

import io

import torch

import sagemaker_debug_ext.pytorch as smd

torch.set_num_threads(1)  # the models are tiny
F = torch.nn.functional


class Net(torch.nn.Module):
    """The small network that most golden trials were made of."""

    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(1, 4, 3, padding=1)
        self.relu1 = torch.nn.ReLU()
        self.conv2 = torch.nn.Conv2d(4, 8, 3, padding=1)
        self.relu2 = torch.nn.ReLU()
        self.fc = torch.nn.Linear(32, 5)

    def forward(self, x):
        x = F.max_pool2d(self.relu1(self.conv1(x)), 2)
        x = F.max_pool2d(self.relu2(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


class Trainer:
    """Trains a `Net` (or another model that takes its images) in the usual way."""

    hook_class = smd.Hook

    def __init__(self, hook=None, model=None, seed=0):
        torch.manual_seed(seed)
        self.model = model or Net()
        self.loss = torch.nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.hook = None
        if hook is not None:
            self.attach(hook)

    def attach(self, hook):
        self.hook = hook
        hook.register_module(self.model)
        hook.register_loss(self.loss)

    def batch(self):
        return torch.randn(6, 1, 8, 8), torch.randint(0, 5, (6,))

    def train(self, steps, after_step=None):
        if self.hook is not None:
            self.hook.set_mode(smd.modes.TRAIN)
        for _ in range(steps):
            images, labels = self.batch()
            self.optimizer.zero_grad()
            self.loss(self.model(images), labels).backward()
            self.optimizer.step()
            if after_step is not None:
                after_step()
        return self

    def evaluate(self, steps):
        if self.hook is not None:
            self.hook.set_mode(smd.modes.EVAL)
        with torch.no_grad():
            for _ in range(steps):
                images, labels = self.batch()
                self.loss(self.model(images), labels)
        return self

    @property
    def parameter(self):
        return self.model.fc.weight

    def spoil(self):
        """Make every loss to come NaN."""
        with torch.no_grad():
            self.model.fc.weight.fill_(float("nan"))

    def result(self):
        """Return all that training leaves as bytes: parameters, gradients, optimizer, and the next random numbers."""
        buffer = io.BytesIO()
        gradients = [parameter.grad for parameter in self.model.parameters()]
        state = [self.model.state_dict(), self.optimizer.state_dict(), gradients, torch.get_rng_state()]
        torch.save(state, buffer)
        return buffer.getvalue()

    def attachments(self):
        """Return what is attached to modules and parameters, and the names of the modules' attributes."""
        modules = [*self.model.modules(), self.loss]
        return registered_hooks(self.model), registered_hooks(self.loss), [sorted(vars(module)) for module in modules]


def registered_hooks(root):
    """Return how many hooks of each kind the modules below a module have, and how many its parameters."""
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    modules = {name: [len(getattr(module, kind)) for kind in kinds] for name, module in root.named_modules()}
    return modules, {name: len(tensor._backward_hooks or ()) for name, tensor in root.named_parameters()}
