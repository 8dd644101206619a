# "My accuracy is stuck at 0.63": the features were not scaled. Scaled here.
import keras
from keras.callbacks import EarlyStopping
from keras.layers import Dense, Dropout, Input
from keras.models import Sequential
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler

keras.utils.set_random_seed(42)

data = load_breast_cancer()
X_train, X_test, y_train, y_test = train_test_split(
    data.data, data.target, test_size=0.25, random_state=42, stratify=data.target
)

scaler = MinMaxScaler()
X_train = scaler.fit_transform(X_train)
X_test = scaler.transform(X_test)

model = Sequential(
    [
        Input((30,)),
        Dense(30, activation="relu"),
        Dropout(0.2),
        Dense(15, activation="relu"),
        Dense(1, activation="sigmoid"),
    ]
)
model.compile(loss="binary_crossentropy", optimizer="adam", metrics=["accuracy"])
early_stop = EarlyStopping(monitor="val_loss", patience=10, restore_best_weights=True)
model.fit(X_train, y_train, validation_split=0.2, epochs=60, batch_size=32, callbacks=[early_stop], verbose=2)

loss, acc = model.evaluate(X_test, y_test, verbose=0)
print(f"RESULT accuracy {acc:.4f}")
