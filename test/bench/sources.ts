// Scenarios and worlds of the tests, which are sources: Vite loads them here, as it does for the tests.

import { fileURLToPath } from 'node:url'
import { createServer } from 'vite'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** `path`: from the root. */
export async function withSource<S, T>(path: string, work: (source: S) => Promise<T>): Promise<T> {
  const vite = await createServer({
    ...{ root, configFile: false, appType: 'custom', logLevel: 'error' },
    server: { middlewareMode: true, watch: null, hmr: false },
    // What they import is not made again, but taken as Node finds it.
    ssr: { external: true, resolve: { mainFields: ['main'] } },
  })
  try {
    return await work((await vite.ssrLoadModule(`/${path}`)) as S)
  } finally {
    await vite.close()
  }
}
