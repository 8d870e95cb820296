// The hooks of editors, for the installer: which ones can be installed without bothering the user, and the question before they are added.

import { hookTimeoutSeconds, listText } from '@agent-relay/sdk/internal/clis'
import type { InstalledHook } from './editor-rule.ts'
import { type Editor, editors } from './editors.ts'
import type { InstallContext } from './paths.ts'

/** Editors whose hooks do not bother the user: the CLI asks for no review of them, and shows nothing of them on its screen. */
export const silentHookEditors: readonly string[] = editors
  .filter(({ hooks }) => hooks && hooks.reviewNote === undefined)
  .map(({ name }) => name)

/** The question before hooks are added: it names everything that they do, and for how long the CLI may wait for them. */
export function hooksQuestion(asked: readonly Editor[]): string {
  const waking = asked.filter(({ hooks }) => hooks?.wakesSessions).map(({ title }) => title)
  const asking = asked.filter(({ hooks }) => hooks?.asksPermissions).map(({ title }) => title)
  const titles = asked.map(({ title }) => title)
  return [
    `${listText(titles, 'and')}: also install hooks?`,
    `- Messages reach a session by themselves: at its start, with each prompt and after each turn, which wait at most ${hookTimeoutSeconds} s for it.`,
    ...(waking.length > 0
      ? [`- ${listText(waking, 'and')}: a waiter beside each session wakes it when a message comes.`]
      : []),
    ...(asking.length > 0
      ? [
          `- ${listText(asking, 'and')}: you can also answer its permission questions in the relay; the first answer counts.`,
        ]
      : []),
    `- Before an edit: is another agent working on that file? The edit waits at most ${hookTimeoutSeconds} s for it.`,
    'Install them?',
  ].join('\n')
}

/** The hooks of an editor for the user or for a project; empty if it has none there. */
export function editorHooks({ hooks }: Editor, context: InstallContext, isProject: boolean): InstalledHook[] {
  return hooks?.entries(context, isProject) ?? []
}
