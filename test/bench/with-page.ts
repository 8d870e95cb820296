// The page of a relay in a real browser, for the parts that measure it. Measures nothing itself.

import { temporaryFolder } from './child.ts'
import { type Relay, startRelay } from './relay.ts'
import { withSource } from './sources.ts'
import type { Measure } from './table.ts'

export interface Page {
  goto(url: string): Promise<unknown>
  locator(selector: string): { first(): { waitFor(): Promise<void> } }
}

interface Opening {
  openPage(dataDir: string, project: string): Promise<{ page: Page; close(): Promise<void> } | undefined>
}

/** Opens the page of a new relay, for as long as the work takes. `speed`: the functions of test/browser/speed.ts. Without Chromium there are no rows. */
export function withPage<Speed>(
  work: (relay: Relay, page: Page, speed: Speed) => Promise<Measure[]>,
): Promise<Measure[]> {
  return withSource('test/browser/speed.ts', async (speed: Opening & Speed) => {
    const dataDir = temporaryFolder()
    const relay = await startRelay([], { hasHttp: true, dataDir })
    const opened = await speed.openPage(dataDir, 'bench')
    try {
      if (opened) return await work(relay, opened.page, speed)
      process.stderr.write('bench: the rows of the page are left out: Chromium is not here; set CHROMIUM_PATH\n')
      return []
    } finally {
      await opened?.close()
      await relay.stop()
    }
  })
}
