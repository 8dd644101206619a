# Sentiment of toy "reviews": integer tokens -> Embedding -> GRU -> sigmoid.
# Word ids: 0 padding, 1-14 praise, 15-28 complaint, 29-59 filler.
import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(9)
rng = np.random.default_rng(9)

VOCAB, MAXLEN = 60, 14


def make_reviews(count):
    seqs, labels = [], []
    for _ in range(count):
        label = int(rng.integers(0, 2))
        length = int(rng.integers(7, MAXLEN + 1))
        words = rng.integers(29, VOCAB, size=length)
        opinion = rng.choice(length, size=4, replace=False)
        main = (1, 15) if label else (15, 29)
        other = (15, 29) if label else (1, 15)
        words[opinion[:3]] = rng.integers(main[0], main[1], size=3)
        words[opinion[3]] = rng.integers(other[0], other[1])  # one word the other way
        seqs.append(words.tolist())
        labels.append(label)
    return seqs, np.array(labels, dtype="float32")


train_seqs, y_train = make_reviews(2400)
test_seqs, y_test = make_reviews(400)
X_train = keras.utils.pad_sequences(train_seqs, maxlen=MAXLEN, padding="pre")
X_test = keras.utils.pad_sequences(test_seqs, maxlen=MAXLEN, padding="pre")

model = keras.Sequential(
    [
        layers.Input((MAXLEN,), dtype="int32"),
        layers.Embedding(VOCAB, 8, mask_zero=True),
        layers.GRU(12),
        layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(0.004), loss="binary_crossentropy", metrics=["accuracy"])
h = model.fit(X_train, y_train, validation_split=0.2, epochs=6, batch_size=32, verbose=0)

for e in range(len(h.history["loss"])):
    print(
        e + 1,
        "loss {:.3f} val_loss {:.3f} val_acc {:.3f}".format(
            h.history["loss"][e], h.history["val_loss"][e], h.history["val_accuracy"][e]
        ),
    )
print(f"test accuracy: {model.evaluate(X_test, y_test, verbose=0)[1]:.3f}")
