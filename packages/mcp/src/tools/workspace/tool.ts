// What the tools of toolset `workspace` share: every answer says `ok`, and its schema leaves room for an error.

import { z } from 'zod'
import type { ToolClient } from '../../client.ts'
import { type Hints, type Tool, tool } from '../tool.ts'

interface Definition<I, S extends z.ZodRawShape> {
  name: string
  title: string
  description: string
  input: z.ZodType<I>
  /** What a success holds besides `ok`. */
  output: S
  hints: Hints
  isForAnyone?: boolean
  showsInbox?: boolean
  run(client: ToolClient, input: I): Promise<{ text: string; isError?: boolean } & z.input<z.ZodObject<S>>>
}

const error = z.object({ code: z.string(), message: z.string() }).optional()

export function workspaceTool<I, S extends z.ZodRawShape>({ output, run, ...rest }: Definition<I, S>): Tool {
  return tool({
    ...rest,
    hasEnvelope: true,
    output: z.object({ ok: z.boolean(), ...z.object(output).partial().shape, error }),
    run: async (client, input: I) => {
      const { text, isError = false, ...fields } = await run(client, input)
      return { text, isError, structured: { ok: true, ...fields } as never }
    },
  })
}
