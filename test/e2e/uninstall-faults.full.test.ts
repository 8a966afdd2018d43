// `lodestone uninstall` with namespaces that are being deleted, with thousands of bindings, and with an API server and other clients that
// disturb it. `npm run e2e:full` runs it.
import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { type Stored, seed as store } from '../../bench/harness/seed.ts'
import { resourceBindings } from '../../src/api/karmada.ts'
import { randomFrom } from '../random.ts'
import type { KubeObject } from './api-client.ts'
import { type GateAnswer, type GatedRequest, startApiGate } from './api-gate.ts'
import { main } from './command.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { bindings, hubOn } from './hub.ts'
import { installLodestone, leaseRights, startLodestone } from './lodestone.ts'
import { logToStderr } from './log.ts'
import { binding, claim, deployment, policy, source } from './manifests.ts'
import { installUninstaller, mentions, uninstallerUser } from './uninstall.ts'

const elected = { leaderElection: { enabled: true } }
const gone = { code: 0, stderr: '', stdout: expect.stringContaining('nothing of Lodestone is left') }

let plane: ControlPlane
afterEach(async () => {
  await plane?.stopAll()
})

describe('a namespace that is being deleted is gone after the uninstallation', () => {
  const namespace = 'leaving'

  test('with claims, narrowed bindings and bindings on hold, on a hub', async () => {
    plane = await startControlPlane({ garbageCollector: true })
    const hub = hubOn(plane)
    const kubeconfig = await installLodestone(plane)
    await plane.apply([...leaseRights(), namespaceObject()])
    const uninstaller = await installUninstaller(plane)
    const lodestone = await startLodestone(plane, { kubeconfig, config: elected, readyTimeoutMs: 300_000 })
    await hub.apply(source('placed-data', ['member2']))
    for (const [name, data] of [
      ['placed', 'placed-data'],
      ['waiting', 'unknown-data'],
    ] as const) {
      await hub.apply(inNamespace(claim(name, { data })), inNamespace(policy(name)), inNamespace(deployment(name)))
    }
    await plane.eventually('one is narrowed, the other on hold', async () => {
      const { stdout } = await plane.kubectl(['get', bindings, '-n', namespace, '-o', 'yaml'])
      return stdout.includes('lodestone.dev/locality') && stdout.includes('lodestone.dev/hold')
    })
    await lodestone.kill()
    await plane.kubectl(['delete', 'namespace', namespace, '--wait=false'])

    expect(await uninstaller.uninstall('--yes')).toMatchObject({ code: 0, stderr: '' })
    await isGone()
    expect(await uninstaller.checkGone()).toEqual(gone)
    expect(await mentions(plane)).toEqual([])
  })

  const namespaceObject = () => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  const inNamespace = <T extends KubeObject>(object: T): T => ({
    ...object,
    metadata: { ...object.metadata, namespace },
  })

  function isGone(): Promise<unknown> {
    return plane.eventually(
      'the namespace is gone',
      async () => (await plane.getJson('namespaces', namespace)) === undefined,
      120_000,
    )
  }
})

describe('ten thousand bindings', () => {
  const count = 10_000
  const seed = 31

  test('are released by uninstallations that are disturbed, killed and run twice at once', async () => {
    plane = await startControlPlane()
    for (const name of ['karmada-scheduler', 'karmada-controller-manager'] as const) await plane.stop(name)
    await installLodestone(plane)
    await plane.apply(leaseRights())
    await installUninstaller(plane)
    await store(plane.url('etcd'), seededBindings())
    const gate = await startApiGate(plane, uninstallerUser)
    const { kubeconfig } = gate

    const planned = await uninstall(kubeconfig)
    expect(planned.stdout).toContain(`ResourceBinding: ${count} (`)
    report('the dry run', planned)

    const faults = openFaults()
    gate.intercept(faults.decide)
    const killed = await uninstall(kubeconfig, ['--yes'], () => faults.patches() >= 6000)
    report('the killed run', killed)
    expect(faults.counts().outage).toBeGreaterThan(0)
    const [first, second, users] = await Promise.all([
      uninstall(kubeconfig, ['--yes']),
      uninstall(kubeconfig, ['--yes']),
      disturb(),
    ])
    report('the first of two', first)
    report('the second of two', second)
    logToStderr(`answers of the gate: ${JSON.stringify(faults.counts())}; ${users} writes of users`)
    gate.intercept(() => undefined)

    for (const { code, stderr } of [first, second]) expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(await mentions(plane)).toEqual([])
    const left = await plane.listJson(bindings, 'default')
    expect(left.length).toBeGreaterThan(count - 500)
    expect(JSON.stringify(left)).not.toContain('"suspension"')
    for (const { peakMib } of [planned, killed, first, second]) expect(peakMib).toBeLessThan(400)
  }, 900_000)

  function* seededBindings(): Generator<Stored> {
    const hold = JSON.stringify({ message: 'm', reason: 'Unresolved', since: '2026-11-20T12:00:00Z' })
    for (let i = 0; i < count; i++) {
      const { metadata, spec, ...rest } = binding(`workload-${i}`)
      const annotations = { 'lodestone.dev/hold': hold }
      const finalizers = ['lodestone.dev/dependencies']
      const object = {
        ...rest,
        metadata: { ...metadata, annotations, finalizers },
        spec: { ...(spec as object), suspension: { scheduling: true } },
      }
      yield { type: resourceBindings, object } as unknown as Stored
    }
  }

  // Users change and delete bindings while both uninstallations write them.
  async function disturb(): Promise<number> {
    const random = randomFrom(seed)
    let writes = 0
    for (; writes < 400; writes++) {
      const path = `/apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings/workload-${random.below(count)}-deployment`
      if (writes % 2 === 0) await plane.api.request('DELETE', path)
      else {
        const patch = { metadata: { annotations: { touched: String(writes) } } }
        await plane.api.request('PATCH', path, patch, 'application/merge-patch+json')
      }
    }
    return writes
  }

  // One write in twenty is a conflict, one in twenty too many; after 3000 writes the API server is away for ten seconds.
  function openFaults() {
    const random = randomFrom(seed)
    const counts = { conflict: 0, overload: 0, outage: 0 }
    let patches = 0
    let awayUntil: number | undefined
    return {
      patches: () => patches,
      counts: () => counts,
      decide({ method }: GatedRequest): GateAnswer | undefined {
        if (method === 'PATCH') patches++
        if (patches >= 3000) awayUntil ??= performance.now() + 10_000
        if (awayUntil !== undefined && performance.now() < awayUntil) {
          counts.outage++
          return 'reset'
        }
        if (method === 'GET') return undefined
        const chance = random.next()
        if (chance < 0.05) {
          counts.conflict++
          return { status: 409, body: statusBody(409, 'Conflict') }
        }
        if (chance < 0.1) {
          counts.overload++
          return { status: 429, headers: { 'retry-after': '1' }, body: statusBody(429, 'TooManyRequests') }
        }
        return undefined
      },
    }
  }

  const statusBody = (code: number, reason: string) => ({
    kind: 'Status',
    apiVersion: 'v1',
    code,
    reason,
    message: reason,
  })

  interface Run {
    code: number
    stdout: string
    stderr: string
    seconds: number
    peakMib: number
  }

  // Runs the command, and kills it when `isOver` returns true.
  async function uninstall(kubeconfig: string, args: string[] = [], isOver = () => false): Promise<Run> {
    const beganAt = performance.now()
    const child = spawn(process.execPath, [main, 'uninstall', '--kubeconfig', kubeconfig, ...args])
    const texts = { stdout: '', stderr: '' }
    child.stdout.on('data', (chunk: Buffer) => (texts.stdout += chunk))
    child.stderr.on('data', (chunk: Buffer) => (texts.stderr += chunk))
    const ended = Promise.withResolvers<number>()
    child.on('close', (code) => ended.resolve(code ?? -1))
    let peakMib = 0
    let code: number | undefined
    while (code === undefined) {
      code = await Promise.race([ended.promise, sleep(100).then(() => undefined)])
      peakMib = Math.max(peakMib, await residentMib(child.pid ?? 0))
      if (isOver()) child.kill('SIGKILL')
    }
    return { code, ...texts, seconds: Math.round((performance.now() - beganAt) / 1000), peakMib }
  }

  async function residentMib(pid: number): Promise<number> {
    const text = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
    return Math.round(Number(/VmHWM:\s+(\d+) kB/.exec(text)?.[1] ?? 0) / 1024)
  }

  function report(what: string, { code, seconds, peakMib, stdout }: Run): void {
    const [last = ''] = stdout.trim().split('\n').slice(-1)
    logToStderr(`${what}: status ${code}, ${seconds} s, ${peakMib} MiB: ${last}`)
  }
})
