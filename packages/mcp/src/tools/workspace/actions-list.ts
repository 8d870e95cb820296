// actions_list: the actions that the caller may call, for hosts that do not see them as tools.

import { z } from 'zod'
import { cut, oneLine } from '../../text.ts'
import { workspaceTool } from './tool.ts'

export const actionsListTool = workspaceTool({
  name: 'actions_list',
  title: 'List actions',
  description: 'The actions you may call, with their input schemas.',
  input: z.object({}),
  output: {
    actions: z.array(
      z.looseObject({ name: z.string(), tool: z.string(), description: z.string(), inputSchema: z.looseObject({}) }),
    ),
  },
  hints: { readOnly: true, idempotent: true },
  isForAnyone: true,
  run: async (client) => {
    const { actions } = await client.call('action.list', {})
    const lines = actions.map(
      ({ name, description, inputSchema }) =>
        `- ${name}: ${oneLine(description)}\n  input: ${JSON.stringify(inputSchema)}`,
    )
    return { text: cut([`${actions.length} action(s)`, ...lines].join('\n')), actions }
  },
})
