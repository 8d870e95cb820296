// Finds the files that a tool call is about to write: in the arguments of editing tools, in the headers of a patch, and in common shell commands such
// as `rm`, `mv`, `sed -i`, `git` and redirections. Files that a shell command writes in other ways are not found.

import { basename, resolve } from 'node:path'

export interface FileEdits {
  /** Absolute paths. Symbolic links in them are resolved by the daemon. */
  files: string[]
  /** Those of `files` that are removed, moved or restored as a whole; for a directory, with all its content. */
  trees?: string[]
  /** A git command that may change files without naming them, such as `git stash`. */
  git?: { command: string; directory: string }
}

/** Names of the editing tools of all CLIs, in lower case. */
const editTools = [
  'write',
  'edit',
  'multiedit',
  'notebookedit',
  'write_file',
  'replace',
  'create',
  'str_replace_editor',
]
const patchTools = ['apply_patch', 'patch']
const shellTools = ['bash', 'shell', 'run_shell_command', 'local_shell', 'exec_command']
const fileKeys = ['file_path', 'filePath', 'notebook_path', 'path']
const directoryKeys = ['workdir', 'dir_path', 'directory', 'cwd']
const patchHeader = /^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$/gm

type ToolInput = Readonly<Record<string, unknown>>

export function findEdits(tool: string, input: ToolInput, cwd: string): FileEdits {
  const name = tool.toLowerCase()
  const texts = Object.values(input).filter((value): value is string => typeof value === 'string')
  if (patchTools.includes(name)) return { files: texts.flatMap((text) => filesInPatch(text, cwd)) }
  if (shellTools.includes(name)) {
    const directory = resolve(cwd, firstString(input, directoryKeys) ?? '.')
    const { command } = input
    if (Array.isArray(command)) return shellEdits([{ words: command.map(String), writes: [] }], directory)
    return typeof command === 'string' ? commandLineEdits(command, directory) : { files: [] }
  }
  // Copilot CLI's editing tool can also just view a file.
  if (!editTools.includes(name) || input.command === 'view') return { files: [] }
  const file = firstString(input, fileKeys)
  return { files: file === undefined ? [] : [resolve(cwd, file)] }
}

function firstString(input: ToolInput, keys: readonly string[]): string | undefined {
  return keys.map((key) => input[key]).find((value): value is string => typeof value === 'string' && value !== '')
}

function filesInPatch(text: string, cwd: string): string[] {
  return [...text.matchAll(patchHeader)].map(([, file = '']) => resolve(cwd, file.trim()))
}

function commandLineEdits(text: string, directory: string): FileEdits {
  const { files, ...rest } = shellEdits(parseCommands(text), directory)
  return { files: [...files, ...filesInPatch(text, directory)], ...rest }
}

/** One command of a line: its words, and the files to which its output is redirected. */
interface SimpleCommand {
  words: string[]
  writes: string[]
}

/** Words before a program's name that do not change which files the program writes. */
const commandPrefixes = ['sudo', 'command', 'env', 'time', 'nohup', 'exec', 'builtin']

function shellEdits(commands: readonly SimpleCommand[], start: string): FileEdits {
  let directory = start
  const found = { files: [], trees: [] as string[] } as FileEdits & { trees: string[] }
  for (const { words, writes } of commands) {
    const at = words.findIndex((word) => !commandPrefixes.includes(word) && !/^\w+=/.test(word))
    const [program = '', ...args] = at < 0 ? [] : words.slice(at)
    // Leaves out a name with a variable or a pattern, whose value is not known here.
    const paths = (names: readonly string[]) =>
      names.filter((name) => name !== '' && !/[$*?`]/.test(name)).map((name) => resolve(directory, name))
    const take = (names: readonly string[]) => void found.files.push(...paths(names))
    const add = ({ files, trees = [], git }: FileEdits) => {
      found.files.push(...files)
      found.trees.push(...trees)
      found.git ??= git
    }
    take(writes)
    const operands = args.filter((arg) => !arg.startsWith('-'))
    const script = args[args.findIndex((arg) => /^-\w*c$/.test(arg)) + 1]
    switch (basename(program)) {
      case 'cd':
        if (operands[0] !== undefined) directory = resolve(directory, operands[0])
        break
      case 'sh':
      case 'bash':
      case 'zsh':
        if (args.some((arg) => /^-\w*c$/.test(arg))) add(commandLineEdits(script ?? '', directory))
        break
      case 'git':
        add(gitEdits(args, directory))
        break
      case 'dd':
        take(args.filter((arg) => arg.startsWith('of=')).map((arg) => arg.slice(3)))
        break
      case 'cp':
      case 'ln':
      case 'install':
        take(operands.slice(-1))
        break
      case 'sed':
      case 'perl':
        if (args.some((arg) => /^-[a-z]*i|^--in-place/.test(arg)))
          take(args.some((arg) => /^-[a-z]*[ef]$/.test(arg)) ? operands : operands.slice(1))
        break
      case 'rm':
        take(operands)
        if (hasShortOption(args, '[rR]') || args.includes('--recursive')) found.trees.push(...paths(operands))
        break
      case 'mv':
        take(operands)
        found.trees.push(...paths(operands.slice(0, -1)))
        break
      case 'tee':
      case 'touch':
      case 'truncate':
        take(operands)
        break
    }
  }
  return found.trees.length > 0 ? found : { files: found.files, git: found.git }
}

const isEverything = (path: string) => ['.', ':/', '*', './'].includes(path)
const hasShortOption = (args: readonly string[], letter: string) =>
  args.some((arg) => new RegExp(`^-\\w*${letter}`).test(arg))

function gitEdits(words: readonly string[], start: string): FileEdits {
  let directory = start
  let n = 0
  for (; words[n]?.startsWith('-'); n++) {
    if (words[n] === '-C') directory = resolve(directory, words[++n] ?? '.')
    else if (words[n] === '-c' || words[n] === '--git-dir' || words[n] === '--work-tree') n++
  }
  const [verb = '', ...args] = words.slice(n)
  const paths = args.filter((arg) => !arg.startsWith('-'))
  const named = args.includes('--') ? args.slice(args.indexOf('--') + 1) : []
  const files = (of: readonly string[]) => {
    const whole = of.map((path) => resolve(directory, path))
    return { files: whole, trees: whole }
  }
  const sweep = { files: [], git: { command: ['git', ...words].join(' ').slice(0, 2_000), directory } }
  const none = { files: [] }
  switch (verb) {
    case 'add':
      return paths.some(isEverything) ||
        hasShortOption(args, '[Au]') ||
        args.includes('--all') ||
        args.includes('--update')
        ? sweep
        : none
    case 'commit':
      return hasShortOption(args, 'a') || args.includes('--all') ? sweep : none
    case 'stash':
      return ['list', 'show', 'drop', 'clear', 'create', 'store'].includes(paths[0] ?? '') ? none : sweep
    case 'checkout':
    case 'switch':
      if (named.length > 0 && !named.some(isEverything)) return files(named)
      return hasShortOption(args, '[bBcC]') || args.includes('--orphan') || args.includes('--create') ? none : sweep
    case 'restore':
      if (args.includes('--staged') && !args.includes('--worktree')) return none
      return paths.some(isEverything) ? sweep : files(paths)
    case 'reset':
      return sweep
    case 'clean':
      return hasShortOption(args, 'n') || args.includes('--dry-run') ? none : sweep
    case 'rm':
    case 'mv':
      return files(paths)
    default:
      return none
  }
}

/** Splits a shell line into commands, with just enough of the grammar to tell words, quotes, redirections and here-documents apart. */
function parseCommands(text: string): SimpleCommand[] {
  const commands: SimpleCommand[] = [{ words: [], writes: [] }]
  const token =
    /\\\n|[ \t]+|#[^\n]*|(\d*(?:>>|>\||&>>?|>)(?!&)\s*)|(<<-?\s*)(['"]?)(\w+)\3|(\d*[<>]&?\d*-?)|([;&|()\n`]+)|((?:[^\s\\'"<>;&|()`]|\\[^\n]|'[^']*'|"(?:\\[\s\S]|[^"\\])*")+)|./gy
  let isTarget = false
  const ends: string[] = []
  for (let match = token.exec(text); match; match = token.exec(text)) {
    const [, write, here, , mark, , separator, word] = match
    const last = commands.at(-1) as SimpleCommand
    if (write !== undefined) isTarget = true
    else if (here !== undefined) ends.push(mark as string)
    else if (separator !== undefined) {
      commands.push({ words: [], writes: [] })
      isTarget = false
      // The lines after this one are the texts of its here-documents, which are skipped.
      if (separator.includes('\n'))
        while (ends.length > 0) token.lastIndex = skipHereDocument(text, token.lastIndex, ends.shift() as string)
    } else if (word !== undefined) {
      if (isTarget) last.writes.push(unquoted(word))
      else last.words.push(unquoted(word))
      isTarget = false
    }
  }
  return commands.filter(({ words, writes }) => words.length + writes.length > 0)
}

function skipHereDocument(text: string, from: number, mark: string): number {
  const end = new RegExp(`^\\t*${mark}$`, 'm')
  const found = end.exec(text.slice(from))
  return found ? from + found.index + found[0].length : text.length
}

function unquoted(word: string): string {
  return word.replace(/'([^']*)'|"((?:\\[\s\S]|[^"\\])*)"|\\([\s\S])/g, (_, single, double, escaped) =>
    single !== undefined ? single : double !== undefined ? double.replace(/\\(["\\$`])/g, '$1') : escaped,
  )
}
