// What every route knows of its request, besides the request: who asks, and when the answer has left.

import type { HttpBindings } from '@hono/node-server'
import type { Principal } from './callers.ts'

export interface HttpEnv {
  Bindings: HttpBindings
  Variables: { principal: Principal; left: Promise<boolean> }
}
