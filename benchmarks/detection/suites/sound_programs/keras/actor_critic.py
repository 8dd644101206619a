import random
import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from cart_pole import CartPole
from keras import layers

keras.utils.set_random_seed(0)
random.seed(0)
env = CartPole()
i = keras.Input((4,))
c = layers.Dense(64, activation="relu")(i)
model = keras.Model(i, [layers.Dense(2, activation="softmax")(c), layers.Dense(1)(c)])
opt = keras.optimizers.Adam(1e-2)
huber = keras.losses.Huber()
eps = np.finfo(np.float32).eps.item()
run = 0
for ep in range(25):
    s = env.reset()
    lp, vs, rs = [], [], []
    with tf.GradientTape() as t:
        done = False
        while not done:
            pr, v = model(tf.convert_to_tensor([s]))
            vs.append(v[0, 0])
            q = np.squeeze(pr).astype("float64")
            a = np.random.choice(2, p=q / q.sum())
            lp.append(tf.math.log(pr[0, a]))
            s, r, done = env.step(a)
            rs.append(r)
        R, d = [], 0
        for r in rs[::-1]:
            d = r + 0.99 * d
            R.insert(0, d)
        R = np.array(R)
        R = ((R - R.mean()) / (R.std() + eps)).tolist()
        al = [-l * (r - v) for l, v, r in zip(lp, vs, R)]
        cl = [huber(tf.expand_dims(v, 0), tf.expand_dims(r, 0)) for v, r in zip(vs, R)]
        loss = sum(al) + sum(cl)
    g = t.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(g, model.trainable_variables))
    run = 0.05 * sum(rs) + 0.95 * run
    if ep % 5 == 4:
        print(ep, sum(rs), run)
