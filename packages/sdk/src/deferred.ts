// A promise together with the functions that settle it, as `Promise.withResolvers` of newer platforms makes it.

export interface Deferred<T> {
  promise: Promise<T>
  resolve(value: T): void
  reject(error: unknown): void
}

export function deferred<T>(): Deferred<T> {
  const made = {} as Deferred<T>
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }))
  return made
}
