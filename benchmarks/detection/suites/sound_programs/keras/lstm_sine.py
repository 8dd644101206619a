# Predict the next value of a noisy wave from the last 30 values.
import keras
import numpy as np
from keras.layers import LSTM, Dense, Input
from keras.models import Sequential
from sklearn.metrics import r2_score
from sklearn.preprocessing import MinMaxScaler

keras.utils.set_random_seed(0)

t = np.arange(1500)
series = 10 * np.sin(2 * np.pi * t / 50) + 3 * np.sin(2 * np.pi * t / 17) + np.random.normal(0, 0.5, len(t))
series = series.reshape(-1, 1)

n_train = 1200
scaler = MinMaxScaler(feature_range=(0, 1))
scaler.fit(series[:n_train])
scaled = scaler.transform(series)

look_back = 30
X, Y = [], []
for i in range(len(scaled) - look_back):
    X.append(scaled[i : i + look_back])
    Y.append(scaled[i + look_back, 0])
X, Y = np.array(X), np.array(Y)  # X: (samples, time steps, features)
split = n_train - look_back
X_train, Y_train, X_test, Y_test = X[:split], Y[:split], X[split:], Y[split:]

model = Sequential()
model.add(Input(shape=(look_back, 1)))
model.add(LSTM(32))
model.add(Dense(1))
model.compile(loss="mean_squared_error", optimizer=keras.optimizers.Adam(0.005))
model.fit(X_train, Y_train, epochs=25, batch_size=32, validation_data=(X_test, Y_test), verbose=2)

pred = scaler.inverse_transform(model.predict(X_test, verbose=0))
true = scaler.inverse_transform(Y_test.reshape(-1, 1))
print(f"RESULT r2 {r2_score(true, pred):.4f}")
