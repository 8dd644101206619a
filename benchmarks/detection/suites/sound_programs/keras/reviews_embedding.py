# Tiny sentiment model on padded word indices (GlobalAveragePooling over an Embedding with mask_zero).
import random

import numpy as np
import tensorflow as tf
from tensorflow.keras import Input, layers, models

random.seed(11)
tf.keras.utils.set_random_seed(11)

good = ["great", "lovely", "excellent", "superb", "enjoyable", "brilliant", "charming", "fun", "moving", "clever"]
bad = ["boring", "awful", "dull", "terrible", "weak", "stupid", "slow", "poor", "annoying", "silly"]
plain = [
    "the",
    "movie",
    "film",
    "was",
    "with",
    "and",
    "a",
    "plot",
    "actor",
    "scene",
    "music",
    "story",
    "of",
    "in",
    "it",
    "i",
    "we",
    "saw",
    "yesterday",
    "cinema",
    "friend",
    "director",
    "camera",
    "first",
    "second",
    "part",
    "end",
    "long",
    "short",
    "very",
    "quite",
    "really",
    "this",
    "that",
    "his",
    "her",
]


def review(label):
    n = random.randint(6, 20)
    words = random.choices(plain, k=n)
    for _ in range(random.randint(2, 4)):
        main, other = (good, bad) if label else (bad, good)
        words.insert(random.randrange(len(words)), random.choice(main if random.random() < 0.85 else other))
    return " ".join(words)


labels = np.array([random.randint(0, 1) for _ in range(2500)])
texts = [review(l) for l in labels]

vectorize = layers.TextVectorization(max_tokens=200, output_sequence_length=25)
vectorize.adapt(texts[:2000])
X = vectorize(tf.constant(texts)).numpy()
X_train, X_test, y_train, y_test = X[:2000], X[2000:], labels[:2000], labels[2000:]

model = models.Sequential(
    [
        Input(shape=(25,)),
        layers.Embedding(200, 16, mask_zero=True),
        layers.GlobalAveragePooling1D(),
        layers.Dense(16, activation="relu"),
        layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer=tf.keras.optimizers.Adam(0.005), loss="binary_crossentropy", metrics=["accuracy"])
model.fit(X_train, y_train, epochs=10, batch_size=32, validation_split=0.1, verbose=2)
print(f"RESULT accuracy {model.evaluate(X_test, y_test, verbose=0)[1]:.4f}")
