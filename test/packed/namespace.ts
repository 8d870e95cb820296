// A network namespace of its own, in which every name leads to a server that records what it is asked. No tests.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { guardMs } from '../guard.ts'
import { until } from '../until.ts'

/** Nobody else asks for it. */
const markerHost = 'the-marker.example'
const recorder = fileURLToPath(new URL('recorder.mjs', import.meta.url))

/** Without `ip`, which a bare machine lacks: the loopback device is set up by the call that `ip link set lo up` makes. */
const loopbackUp = `import fcntl, socket, struct
fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8914, struct.pack('16sH14s', b'lo', 0x49, b''))`
const inside = 'python3 -c "$1" && mount --bind "$2" /etc/resolv.conf && exec "$3" "$4"'

export interface Ran {
  code: number | null
  stdout: string
  stderr: string
}

export class Namespace {
  readonly #holder: ChildProcess
  readonly #directory: string
  #asked: string[] = []

  private constructor(holder: ChildProcess, directory: string) {
    this.#holder = holder
    this.#directory = directory
  }

  /** A sentence where this machine does not allow it: it takes root, or a container that may make namespaces. */
  static async open(): Promise<Namespace | string> {
    const directory = mkdtempSync(join(tmpdir(), 'namespace-'))
    const resolv = join(directory, 'resolv.conf')
    writeFileSync(resolv, 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n')
    const args = ['--net', '--mount', 'sh', '-c', inside, 'sh', loopbackUp, resolv, process.execPath, recorder]
    const holder = spawn('unshare', args, { stdio: ['ignore', 'pipe', 'pipe'] })
    const namespace = new Namespace(holder, directory)
    const failure = await namespace.#ready()
    if (failure === undefined) return namespace
    namespace.close()
    return failure
  }

  #ready(): Promise<string | undefined> {
    return new Promise((resolve) => {
      let [text, trouble] = ['', '']
      const late = setTimeout(() => resolve(`nothing within ${guardMs} ms`), guardMs)
      const end = (why?: string) => {
        clearTimeout(late)
        resolve(why)
      }
      this.#holder.once('error', ({ message }) => end(message))
      this.#holder.once('exit', () => end(trouble.trim() || 'it ended'))
      this.#holder.stderr?.on('data', (chunk) => {
        trouble += chunk
      })
      this.#holder.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
        const lines = `${text}${chunk}`.split('\n')
        text = lines.pop() as string
        for (const line of lines.map((each) => JSON.parse(each) as string)) {
          if (line === 'ready') end()
          else this.#asked.push(line)
        }
      })
    })
  }

  /** Runs a program in there to its end. */
  run(command: string, args: string[], cwd: string, env: Record<string, string>, input = ''): Promise<Ran> {
    const target = ['--target', String(this.#holder.pid), '--net', '--mount']
    const there = ['sh', '-c', 'cd "$0" && exec "$@"', cwd, command, ...args]
    const child = spawn('nsenter', [...target, '--', ...there], { env })
    const ran: Ran = { code: null, stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const)
      child[name].setEncoding('utf8').on('data', (text: string) => {
        ran[name] += text
      })
    child.stdin.on('error', () => {}).end(input)
    return new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code) => resolve({ ...ran, code }))
    })
  }

  /** The requests since the last call. The recorder writes them in their order: when it has written one of ours, all before it are here. */
  async asked(): Promise<string[]> {
    const script = `require('node:http').get('http://${markerHost}', (answer) => answer.resume())`
    await this.run(process.execPath, ['-e', script], '/', { PATH: process.env.PATH ?? '' })
    const isMarker = (record: string) => record.startsWith('http ') && record.includes(markerHost)
    await until(() => this.#asked.some(isMarker))
    const asked = this.#asked.filter((record) => !record.includes(markerHost))
    this.#asked = []
    return asked
  }

  close(): void {
    this.#holder.kill('SIGKILL')
    rmSync(this.#directory, { recursive: true, force: true })
  }
}
