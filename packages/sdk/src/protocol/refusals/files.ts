// The refusals about files: a workspace's database, a backup, an export.

import { databaseFixes, type RefusalDetails } from './fixes.ts'

const unreadable = { retry: false, http: 500, exit: 78 }

export const fileRefusals = {
  'workspace.newer': {
    ...unreadable,
    text: (d: RefusalDetails) =>
      `${d.path} was written by a newer Agent Relay (schema ${d.found}, this one knows ${d.known}). To use it, install that version and run: agent-relay daemon upgrade`,
  },
  'workspace.damaged': {
    ...unreadable,
    text: (d: RefusalDetails) => {
      const recover = d.recover === undefined ? '' : `To go on with what is left: ${d.recover}\n`
      return `${d.path} is damaged (${d.reason}). It was left as it is.\n${recover}${databaseFixes(d)}`
    },
  },
  'workspace.lost': {
    ...unreadable,
    text: (d: RefusalDetails) =>
      `Workspace "${d.workspace}" was here before, but ${d.reason}. It was not created again.\n${databaseFixes(d)}`,
  },
  'file.exists': {
    retry: false,
    http: 409,
    exit: 1,
    text: (d: RefusalDetails) =>
      d.isDirectory
        ? `${d.path} is a directory. Name a file in it.`
        : `There is a file ${d.path} already, and it stays as it is. Name another.`,
  },
  'file.misplaced': {
    retry: false,
    http: 400,
    exit: 2,
    text: (d: RefusalDetails) => `${d.path} cannot be made: ${d.why}. ${d.fix}`,
  },
  'file.denied': {
    retry: false,
    http: 403,
    exit: 77,
    text: (d: RefusalDetails) => `Nothing can be made in ${d.directory}: ${d.why}. Name another place.`,
  },
  'file.invalid': {
    retry: false,
    http: 400,
    exit: 2,
    text: (d: RefusalDetails) => `${d.path} is not ${d.what}: ${d.why}. Nothing was changed.`,
  },
}
