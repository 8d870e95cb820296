// The tools of toolset `lift`, in the order in which they are listed.

import type { Tool } from '../tool.ts'
import { listPendingTool } from './list-pending.ts'
import { postMessageTool } from './post-message.ts'
import { readMessagesTool } from './read-messages.ts'

export const liftTools: readonly Tool[] = [postMessageTool, readMessagesTool, listPendingTool]
