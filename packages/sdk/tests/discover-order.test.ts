// The order of discovery as the first specification tests it, with the file system mocked. discover.test.ts has the rest, on real files.

import { existsSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { discoverSocket } from '../src/internal/discover.ts'

vi.mock('node:fs')

describe('discoverSocket, the file system mocked', () => {
  beforeEach(() => {
    vi.clearAllMocks()
    for (const name of ['RELAY_SOCKET', 'RELAY_PROJECT', 'RELAY_DATA_DIR']) vi.stubEnv(name, undefined)
  })
  afterEach(() => vi.unstubAllEnvs())

  it('takes RELAY_SOCKET before all else', () => {
    vi.stubEnv('RELAY_SOCKET', '/tmp/test.sock')
    vi.mocked(existsSync).mockReturnValue(true)
    expect(discoverSocket()).toEqual({ socketPath: '/tmp/test.sock', project: 'unknown', source: 'env' })
  })

  it('takes RELAY_PROJECT next', () => {
    vi.stubEnv('RELAY_PROJECT', 'myproject')
    vi.mocked(existsSync).mockImplementation((path) => String(path).includes('myproject'))
    expect(discoverSocket()).toMatchObject({ project: 'myproject', source: 'env' })
  })

  it('answers null when there is no socket anywhere', () => {
    vi.mocked(existsSync).mockReturnValue(false)
    expect(discoverSocket()).toBeNull()
  })
})
