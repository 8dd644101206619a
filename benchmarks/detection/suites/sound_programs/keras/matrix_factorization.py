"""Rating prediction with embeddings for users and movies plus biases (MovieLens-like generated ratings)."""

import keras
import numpy as np
from keras import layers, ops, regularizers

keras.utils.set_random_seed(10)
rng = np.random.default_rng(10)
U, M, N, D = 400, 250, 30000, 3
pu, qm = rng.normal(0, 0.7, (U, D)), rng.normal(0, 0.7, (M, D))
bu, bm = rng.normal(0, 0.35, U), rng.normal(0, 0.5, M)
pairs = rng.choice(U * M, N, replace=False)
user, movie = pairs // M, pairs % M
rating = 3.5 + bu[user] + bm[movie] + (pu[user] * qm[movie]).sum(1) + rng.normal(0, 0.4, N)
rating = np.clip(np.round(rating * 2) / 2, 0.5, 5.0).astype("float32")
tr, va, te = slice(0, 24000), slice(24000, 27000), slice(27000, N)
mu = rating[tr].mean()


class Recommender(keras.Model):
    def __init__(self, n_users, n_movies, dim, **kwargs):
        super().__init__(**kwargs)
        init, reg = keras.initializers.RandomNormal(stddev=0.1), regularizers.l2(2e-6)
        self.user_vec = layers.Embedding(n_users, dim, embeddings_initializer=init, embeddings_regularizer=reg)
        self.movie_vec = layers.Embedding(n_movies, dim, embeddings_initializer=init, embeddings_regularizer=reg)
        self.user_bias = layers.Embedding(n_users, 1, embeddings_initializer="zeros")
        self.movie_bias = layers.Embedding(n_movies, 1, embeddings_initializer="zeros")

    def call(self, inputs):
        u, m = inputs[:, 0], inputs[:, 1]
        dot = ops.sum(self.user_vec(u) * self.movie_vec(m), axis=1, keepdims=True)
        return dot + self.user_bias(u) + self.movie_bias(m)


X = np.stack([user, movie], 1).astype("int32")
model = Recommender(U, M, 6)
model.compile(loss="mse", optimizer=keras.optimizers.Adam(3e-3))
stop = keras.callbacks.EarlyStopping(monitor="val_loss", patience=2, restore_best_weights=True)
model.fit(
    X[tr],
    rating[tr] - mu,
    batch_size=128,
    epochs=25,
    validation_data=(X[va], rating[va] - mu),
    callbacks=[stop],
    verbose=2,
)

pred = np.clip(model.predict(X[te], verbose=0)[:, 0] + mu, 0.5, 5.0)
print(f"trivial rmse {np.sqrt(np.mean((rating[te] - mu) ** 2)):.4f}")
print(f"RESULT rmse {np.sqrt(np.mean((rating[te] - pred) ** 2)):.4f}")
