import math
import random


class CartPole:
    def reset(self):
        self.s = [random.uniform(-0.05, 0.05) for _ in range(4)]
        self.t = 0
        return list(self.s)

    def step(self, a):
        x, v, th, w = self.s
        f = 10.0 if a else -10.0
        c, s = math.cos(th), math.sin(th)
        tmp = (f + 0.05 * w * w * s) / 1.1
        al = (9.8 * s - c * tmp) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
        ac = tmp - 0.05 * al * c / 1.1
        self.s = [x + 0.02 * v, v + 0.02 * ac, th + 0.02 * w, w + 0.02 * al]
        self.t += 1
        done = abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.2095 or self.t >= 300
        return list(self.s), 1.0, done
