// How the page is built: into the relay's package, with hashed names and nothing inline, so that a strict content policy can hold.
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

export default defineConfig({
  root: here('.'),
  // The SDK's sources: the page can be built while the packages are.
  resolve: {
    alias: [{ find: /^@agent-relay\/sdk\/(internal\/[\w-]+)$/, replacement: here('../sdk/src/$1.ts') }],
  },
  esbuild: { jsx: 'automatic' },
  build: {
    outDir: here('../relay/dist/page'),
    emptyOutDir: true,
    target: 'es2023',
    modulePreload: { polyfill: false },
    // A small picture as a data: address would need its own line in the policy.
    assetsInlineLimit: 0,
    // One sheet, in the order of the imports: a view that is opened later cannot change how another one looks.
    cssCodeSplit: false,
    reportCompressedSize: false,
  },
})
