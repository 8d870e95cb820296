// Makes a checkout ready to run: installs and builds what is missing or stale, and says so on stderr. Needs nothing but Node.
// --quiet-when-fresh: not a word if there was nothing to do. --then FILE ARGS: afterwards run that program in this same process.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { writeBuildId } from './build-id.mjs'
import { isCliJoined } from './join-cli.mjs'
import { areLibrariesJoined } from './join-libraries.mjs'
import { removeLeftovers } from './remove-leftovers.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const lockfile = join(root, 'package-lock.json')
const pageStamp = join(root, 'node_modules/.page-stamp')
const pageFile = join(root, 'packages/relay/dist/page/index.html')
const completions = join(root, 'packages/relay/dist/completion')
const installStamp = join(root, 'node_modules/.setup-stamp')
const quietWhenFresh = process.argv.includes('--quiet-when-fresh')
const say = (text) => process.stderr.write(text)
const seconds = (since) => Math.max(1, Math.round((Date.now() - since) / 1000))

/**
 * A hash of everything that an install depends on. Node's version is left out: every binary is made for any. Scripts and texts of a package.json may
 * change without an install.
 */
function installKey() {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch}`)
  const { workspaces } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  for (const folder of ['.', ...workspaces]) {
    const { name, version, bin, dependencies, devDependencies, optionalDependencies, overrides } = JSON.parse(
      readFileSync(join(root, folder, 'package.json'), 'utf8'),
    )
    const parts = [name, version, workspaces, bin, dependencies, devDependencies, optionalDependencies, overrides]
    hash.update(JSON.stringify(parts))
  }
  return hash.update(existsSync(lockfile) ? readFileSync(lockfile) : '').digest('hex')
}

function installReason(key) {
  if (!existsSync(join(root, 'node_modules/.package-lock.json'))) return 'first time'
  if (!existsSync(installStamp)) return 'unknown state'
  return readFileSync(installStamp, 'utf8') === key ? undefined : 'dependencies changed'
}

const running = new Set()
process.once('exit', () => {
  for (const child of running) child.kill()
})

/** Runs a program and keeps its output. */
function run(command, args) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
    running.add(child)
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
    const end = (result) => {
      running.delete(child)
      resolve(result)
    }
    child.on('error', (error) => end({ ok: false, output: `${command}: ${error.message}` }))
    child.on('close', (code) => end({ ok: code === 0, output }))
  })
}

/** Runs npm, by its path where npm started us: this takes no second look-up, and no shell on Windows. */
function npm(...args) {
  const script = process.env.npm_execpath
  if (script && basename(script).startsWith('npm')) return run(process.execPath, [script, ...args])
  return process.platform === 'win32' ? run('cmd', ['/c', 'npm', ...args]) : run('npm', args)
}

/**
 * Shows one line for a step: at once if it is known to do something, else as soon as it takes a second. On a terminal the line is replaced each second, with
 * what `work` tells of itself by the function that it is given. Returns whether the step did something.
 */
async function step(label, known, work) {
  const start = Date.now()
  const { isTTY, columns = 80 } = process.stderr
  const line = (text) => `setup: ${known ? label : 'looking for changes'} … ${text}`
  let isShown = false
  let doing = ''
  const show = (text) => {
    if (isTTY) say(`\r\u001b[K${line(text).slice(0, columns - 1)}`)
    else say(isShown ? text : line(text))
    isShown = true
  }
  if (known) show('')
  const ticker = setInterval(() => (isTTY || !isShown) && show(isTTY ? `${seconds(start)} s  ${doing}` : ''), 1000)
  const tell = (text) => (doing = text)
  const { ok, output, worked } = await work(tell)
  clearInterval(ticker)
  if (ok && !worked) {
    if (isShown) say(isTTY ? '\r\u001b[K' : 'none\n')
    return false
  }
  show(ok ? `${known ? '' : 'built in '}${seconds(start)} s` : 'failed')
  say('\n')
  if (ok) return true
  say(`${output.trimEnd().split('\n').slice(-30).join('\n')}\n`)
  process.exit(1)
}

/**
 * Installs the packages. A registry without some optional platform packages makes `npm ci` end with EUSAGE, because npm leaves those out of the
 * lockfile and then misses them there. `npm install` takes the same lockfile as it is; should it write to it, the bytes are put back.
 */
async function install(tell) {
  tell('npm downloads and unpacks them')
  // The log level is set here, because a silent npm would not say EUSAGE.
  const flags = ['--ignore-scripts', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error']
  const clean = await npm('ci', ...flags)
  if (clean.ok || !clean.output.includes('EUSAGE')) return { ...clean, worked: true }
  const before = existsSync(lockfile) ? readFileSync(lockfile) : undefined
  const restore = () => {
    if (before && !before.equals(readFileSync(lockfile))) writeFileSync(lockfile, before)
  }
  process.once('exit', restore)
  const result = await npm('install', ...flags)
  restore()
  return { ...result, worked: true }
}

/** Builds the code. `tsc -b` knows best what is stale, and takes 0.15 s to find nothing. The files it wrote tell whether it built. */
async function build(tell) {
  tell('code')
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const { ok, output } = await run(process.execPath, [tsc, '-b', '--listEmittedFiles', '--pretty', 'false'])
  if (!ok) return { ok, output: output.replace(/^TSFILE:.*\n/gm, ''), worked: true }
  const isEmitted = output.includes('TSFILE:')
  if (isEmitted) removeLeftovers(root)
  tell('bundles')
  const joined = await joinStale()
  if (joined.ok && (isEmitted || !existsSync(completions))) await writeCompletions()
  tell('')
  return { ...joined, worked: isEmitted || joined.worked }
}

/** Joins the files that are not joined since they were built. Each step says whether it wrote anything. */
async function joinStale() {
  let worked = false
  const steps = [
    ['join-pipe.mjs', 'joinPipe', () => false],
    ['join-libraries.mjs', 'joinLibraries', areLibrariesJoined],
    ['join-cli.mjs', 'joinCli', isCliJoined],
  ]
  for (const [file, name, isDone] of steps) {
    if (isDone(root)) continue
    // In a process of its own: esbuild leaves one of its own running, and this process becomes the daemon.
    const url = JSON.stringify(new URL(file, import.meta.url))
    const work = `import(${url}).then((script) => script.${name}(${JSON.stringify(root)}))`
    const { ok, output } = await run(process.execPath, [
      '-e',
      `${work}.then((wrote) => process.stdout.write(String(wrote)))`,
    ])
    if (!ok) return { ok, output, worked }
    worked ||= output !== 'false'
  }
  return { ok: true, output: '', worked }
}

/** Writes the scripts that shells load at their start: making one takes all commands, which a shell must not wait for. */
async function writeCompletions() {
  mkdirSync(completions, { recursive: true })
  const made = ['bash', 'zsh', 'fish'].map(async (shell) => {
    const { ok, output } = await run(process.execPath, [
      join(root, 'packages/relay/bin/agent-relay.cjs'),
      ...['completion', shell, '--json'],
    ])
    if (ok) writeFileSync(join(completions, `${shell}.sh`), `${JSON.parse(output).script}\n`)
  })
  await Promise.all(made)
}

/** A hash of the page's sources: its own files and the SDK's. The lockfile stands for the libraries. */
function pageKey() {
  const hash = createHash('sha256').update(existsSync(lockfile) ? readFileSync(lockfile) : '')
  for (const folder of ['packages/dashboard', 'packages/sdk/src']) {
    for (const entry of readdirSync(join(root, folder), { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath ?? entry.path, entry.name)
      if (entry.isFile() && !path.includes('node_modules'))
        hash.update(path.slice(root.length)).update(readFileSync(path))
    }
  }
  return hash.digest('hex')
}

/** Builds the page if one of its sources has changed. It needs nothing that `build` makes, so both run at once. */
async function buildPage(tell) {
  const key = pageKey()
  const isBuilt = existsSync(pageFile) && existsSync(pageStamp) && readFileSync(pageStamp, 'utf8') === key
  if (isBuilt) return { ok: true, output: '', worked: false }
  tell('page')
  const vite = join(root, 'node_modules/vite/bin/vite.js')
  const result = await run(process.execPath, [
    vite,
    'build',
    '--logLevel',
    'warn',
    '--config',
    'packages/dashboard/vite.config.ts',
  ])
  if (result.ok) writeFileSync(pageStamp, key)
  tell('')
  return { ...result, worked: true }
}

async function buildAll(tell) {
  const doing = ['', '']
  const part = (at) => (text) => {
    doing[at] = text
    tell(doing.filter((each) => each !== '').join(', '))
  }
  const [code, page] = await Promise.all([build(part(0)), buildPage(part(1))])
  if (code.ok && page.ok) writeBuildId(root)
  return { ok: code.ok && page.ok, output: code.output + page.output, worked: code.worked || page.worked }
}

/**
 * Leaves a link to the command line at the top of the checkout, so that `./agent-relay` is a command there. A file of that name which somebody else made
 * stays, and hints then name a path (packages/relay/src/cli/own-name.ts).
 */
function linkLauncher() {
  const isWindows = process.platform === 'win32'
  const link = join(root, isWindows ? 'agent-relay.cmd' : 'agent-relay')
  if (lstatSync(link, { throwIfNoEntry: false })) return
  try {
    if (isWindows) writeFileSync(link, '@node "%~dp0packages\\relay\\bin\\agent-relay.cjs" %*\r\n', { flag: 'wx' })
    else symlinkSync('packages/relay/bin/agent-relay.cjs', link)
  } catch (error) {
    say(`setup: no link to the command could be made (${error.code})\n`)
  }
}

/** Makes the launchers executable. They are checked in so, but an archive or a copy may have lost that. */
function makeExecutable() {
  if (process.platform === 'win32') return
  for (const folder of readdirSync(join(root, 'packages'))) {
    const bin = join(root, 'packages', folder, 'bin')
    for (const file of existsSync(bin) ? readdirSync(bin) : []) {
      const { mode } = statSync(join(bin, file))
      if ((mode & 0o111) !== 0o111) chmodSync(join(bin, file), mode | 0o111)
    }
  }
}

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  say(`setup: Agent Relay needs Node 20.19 or newer; this is ${process.version}.\n`)
  process.exit(78)
}
const leave = () => process.exit(130)
process.once('SIGINT', leave).once('SIGTERM', leave)

const start = Date.now()
const key = installKey()
const reason = installReason(key)
let worked = false
if (reason) {
  rmSync(installStamp, { force: true }) // an install that was cut short must not pass for a whole one
  worked = await step(`installing packages (${reason})`, true, install)
  writeFileSync(installStamp, installKey())
}
worked = (await step('building', reason !== undefined, buildAll)) || worked
makeExecutable()
linkLauncher()
if (!worked && !quietWhenFresh) say(`setup: nothing to do (${Date.now() - start} ms)\n`)

const then = process.argv.indexOf('--then')
if (then > 0) {
  process.off('SIGINT', leave).off('SIGTERM', leave)
  // npm passes a SIGTERM to its shell only, which dies of it and would orphan the program: so the parent is watched.
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    process.kill(process.pid, 'SIGTERM')
  }, 500).unref()
  const program = join(root, process.argv[then + 1])
  process.argv.splice(1, then + 1, program)
  await import(pathToFileURL(program).href)
}
