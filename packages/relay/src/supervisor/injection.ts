// The text by which a worker gets its task. How messages look is the SDK's affair, because the hook prints them too.

import { cleanText, howTo, type InjectionOptions } from '@agent-relay/sdk/injection'

export interface Task {
  name: string
  parent: string
  task: string
}

/** The block goes first: in many CLIs the first character of a prompt decides what it is, and a task may start with `/` or `!`. */
export function taskText({ name, parent, task }: Task, { toolPrefix }: InjectionOptions): string {
  const [who, whose] = [cleanText(name), cleanText(parent)]
  const report = `You are ${who}, a worker of ${whose} over Agent Relay. Report ${howTo([whose], toolPrefix)}`
  return `<system-reminder>\n${report}\n</system-reminder>\n${cleanText(task)}`
}
