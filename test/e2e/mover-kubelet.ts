// Replaces the kubelets of a cluster of kwok nodes, for mover pods only. Their command really runs, as a process of this machine,
// with a folder per node in place of the node's disk. It writes the same statuses as a kubelet.
import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { MOVER_LABEL } from '../../src/api/lodestone.ts'
import type { NodeCondition } from '../../src/api/node.ts'
import type { PersistentVolume, PersistentVolumeClaim } from '../../src/api/persistent-volume.ts'
import type { Container, Pod, PodVolume } from '../../src/api/pod.ts'
import { main } from './command.ts'
import type { ControlPlane } from './control-plane.ts'
import { logToStderr } from './log.ts'
import { type RunningProcess, startProcess } from './processes.ts'

export interface MoverKubeletOptions {
  // The command of each image; of any other image the pull fails.
  images: Record<string, string[]>
}

export interface MoverKubelet {
  // The folder of this machine that replaces a path of a node.
  pathOn(node: string, path: string): string
  // Every mover that was started, in order, as `<node> <verb>`.
  readonly started: readonly string[]
  // Its power is cut: the processes are gone without a report. Its disk is gone with it.
  loseNode(name: string): Promise<void>
  // It is cut off from the API server: its disk stays, and it neither starts nor reports anything.
  disconnectNode(name: string): void
  // It is connected again, or a new machine has its name.
  returnNode(name: string): void
  // An image that can be pulled from now on.
  addImage(name: string, command: string[]): void
  // Kills the running movers of a VolumeManager, and writes the status that a kubelet writes for this cause. This machine is not really
  // short of memory or disk, so a test has to name the cause. Returns the number of killed movers.
  strike(manager: string, blow: Blow): Promise<number>
  // The NFS exports (`server:path`) that cannot be mounted, and why. Of pods that need one, no container is ever created.
  readonly brokenExports: Map<string, string>
  // The nodes on which no container of a mover starts, and why.
  readonly brokenNodes: Map<string, string>
}

export type Blow = 'OOMKilled' | 'Evicted'

const POLL_MS = 100
// Of a pod's folder, what its container sees as its own file system.
const ROOT = 'root'
const TERMINATION_LOG_BYTES = 4096
const FALLBACK_LOG_BYTES = 2048
const SIGTERM_STATUS = 143
const LOW_ON_DISK = 'The node was low on resource: ephemeral-storage. Threshold quantity: 1Gi, available: 900Mi.'
const SIGKILL_STATUS = 137
// pkg/apis/scheduling
const SYSTEM_CRITICAL_PRIORITY = 2_000_000_000

const merge = 'application/merge-patch+json'

// The image of Lodestone itself.
export const lodestoneCommand = [process.execPath, main]

interface Held {
  folder: string
  startedAt: string
  manager: string | undefined
  blow?: Blow
  process: RunningProcess | undefined
  ended: Promise<void>
}

const logFault = (error: unknown) => logToStderr(`mover kubelet: ${String(error)}`)

export async function startMoverKubelet(plane: ControlPlane, options: MoverKubeletOptions): Promise<MoverKubelet> {
  const images = { ...options.images }
  const brokenExports = new Map<string, string>()
  const brokenNodes = new Map<string, string>()
  const held = new Map<string, Held>()
  const beginning = new Set<string>()
  const lost = new Set<string>()
  const started: string[] = []
  const disks = join(plane.dir, 'nodes')
  const pathOn = (node: string, path: string) => join(disks, node, path)
  const aborter = new AbortController()
  const kubeconfigs = new Map<string, Promise<string>>()

  // In place of the token that a kubelet mounts: the same rights.
  function kubeconfigOf(account: string): Promise<string> {
    const known = kubeconfigs.get(account) ?? plane.kubeconfigFor(account)
    kubeconfigs.set(account, known)
    return known
  }

  async function turn(): Promise<void> {
    const list = await plane.api.expect('GET', `/api/v1/pods?labelSelector=${encodeURIComponent(MOVER_LABEL)}`)
    const pods = (list as { items: Pod[] }).items.filter(({ spec }) => spec?.nodeName && !lost.has(spec.nodeName))
    await Promise.all(pods.map(visit))
    const known = new Set(pods.map(({ metadata }) => metadata.uid))
    // Deleted by force: no client waits for its end.
    for (const [uid, { process }] of held) if (!known.has(uid)) await process?.kill()
  }

  async function visit(pod: Pod): Promise<void> {
    const { uid = '', deletionTimestamp } = pod.metadata
    const mine = held.get(uid)
    if (mine) await writeDownward(pod, mine.folder)
    if (deletionTimestamp) return finish(pod, mine)
    if (mine || beginning.has(uid) || isOver(pod)) return
    beginning.add(uid)
    // Not waited for: other pods have their turn meanwhile.
    void begin(pod)
      .catch(logFault)
      .finally(() => beginning.delete(uid))
  }

  async function hasPressure(node: string): Promise<boolean> {
    const found = (await plane.getJson('nodes', node)) as { status?: { conditions?: NodeCondition[] } } | undefined
    return found?.status?.conditions?.some(({ type, status }) => type === 'DiskPressure' && status === 'True') ?? false
  }

  async function begin(pod: Pod): Promise<void> {
    const { uid = '', name = '', namespace = 'default' } = pod.metadata
    const { nodeName = '', containers, volumes } = pod.spec ?? { containers: [] }
    const [container] = containers as [Container]
    // As pkg/kubelet/eviction: with disk pressure, the kubelet accepts critical Pods only.
    const { priority = 0 } = pod.spec as { priority?: number }
    if (priority < SYSTEM_CRITICAL_PRIORITY && (await hasPressure(nodeName))) {
      return writeStatus(pod, {
        phase: 'Failed',
        reason: 'Evicted',
        message: 'The node had condition: [DiskPressure].',
      })
    }
    const command = images[container.image ?? '']
    if (!command) return wait(pod, 'ErrImagePull', `failed to pull image "${container.image}": not found`)
    const broken = brokenNodes.get(nodeName)
    if (broken !== undefined) {
      const terminated = { exitCode: 128, reason: 'StartError', message: broken }
      return writeStatus(pod, { phase: 'Failed', ...stateOf(container, { terminated }) })
    }
    const unmountable = (await unmountableOf(pod)) ?? missingDirectoryOf(pod)
    if (unmountable !== undefined) return failMount(pod, unmountable)
    const env = await environmentOf(pod, container)
    if ('missing' in env) return wait(pod, 'CreateContainerConfigError', env.missing)
    const folder = join(plane.dir, 'movers', `${name}-${uid}`)
    const mounts = await mountsOf(pod, container, volumes ?? [], folder)
    await mkdir(folder, { recursive: true })
    await writeDownward(pod, folder)
    const terminationLog = join(folder, 'termination-log')
    await writeFile(terminationLog, '')
    const account = `system:serviceaccount:${namespace}:${pod.spec?.serviceAccountName ?? 'default'}`
    const [program = '', ...words] = [...command, ...(container.args ?? []).map((word) => inFolder(word, mounts))]
    const startedAt = new Date().toISOString()
    const process = await startProcess({
      name,
      command: program,
      args: words,
      cwd: folder,
      env: {
        PATH: globalThis.process.env['PATH'] ?? '',
        HOME: folder,
        ...env.env,
        MOVER_TERMINATION_LOG: terminationLog,
        MOVER_KUBECONFIG: await kubeconfigOf(account),
      },
      logFile: join(folder, 'log'),
      ready: async () => true,
    })
    started.push(`${nodeName} ${pod.metadata.labels?.[MOVER_LABEL]}`)
    const manager = pod.metadata.labels?.['vckname']
    const mine: Held = { folder, startedAt, manager, process, ended: Promise.resolve() }
    held.set(uid, mine)
    const status = { phase: 'Running', startTime: startedAt, ...stateOf(container, { running: { startedAt } }) }
    await writeStatus(pod, { ...status, conditions: [{ type: 'Ready', status: 'True' }] })
    mine.ended = watch(pod, container, process, mine).catch(logFault)
  }

  async function watch(pod: Pod, container: Container, process: RunningProcess, mine: Held): Promise<void> {
    const { activeDeadlineSeconds } = pod.spec ?? {}
    const deadline = activeDeadlineSeconds === undefined ? undefined : sleep(activeDeadlineSeconds * 1000, 'late')
    const first = await Promise.race([process.ended, ...(deadline ? [deadline] : [])])
    if (first === 'late') await process.stop(2_000)
    const { code, signal } = await process.ended
    if (pod.spec?.nodeName && lost.has(pod.spec.nodeName)) return
    const exitCode = code ?? (signal === 'SIGKILL' ? SIGKILL_STATUS : SIGTERM_STATUS)
    const message = await messageOf(container, mine.folder, exitCode)
    const finishedAt = new Date().toISOString()
    const terminated = {
      exitCode,
      reason: mine.blow === 'OOMKilled' ? mine.blow : exitCode === 0 ? 'Completed' : 'Error',
      ...(message && { message }),
      startedAt: mine.startedAt,
      finishedAt,
    }
    await writeStatus(pod, {
      phase: exitCode === 0 && first !== 'late' ? 'Succeeded' : 'Failed',
      ...(first === 'late' && {
        reason: 'DeadlineExceeded',
        message: 'Pod was active on the node longer than the specified deadline',
      }),
      ...(mine.blow === 'Evicted' && { reason: mine.blow, message: LOW_ON_DISK }),
      ...stateOf(container, { terminated }),
      conditions: [{ type: 'Ready', status: 'False' }],
    })
  }

  // A deleted pod goes once its process has ended and its status has said so.
  async function finish(pod: Pod, mine: Held | undefined): Promise<void> {
    const { namespace, name, uid } = pod.metadata
    if (beginning.has(uid ?? '')) return
    await mine?.process?.stop((pod.spec?.terminationGracePeriodSeconds ?? 30) * 1000)
    await mine?.ended
    held.delete(uid ?? '')
    const options = { gracePeriodSeconds: 0, preconditions: { uid } }
    await plane.api.request('DELETE', `/api/v1/namespaces/${namespace}/pods/${name}`, options)
  }

  async function wait(pod: Pod, reason: string, message?: string): Promise<void> {
    const [container] = (pod.spec?.containers ?? []) as [Container]
    const state = pod.status?.containerStatuses?.[0]?.state?.waiting
    if (state?.reason === reason && state.message === message) return
    await writeStatus(pod, { phase: 'Pending', ...stateOf(container, { waiting: { reason, message } }) })
  }

  async function unmountableOf({ metadata, spec }: Pod): Promise<string | undefined> {
    const claimName = spec?.volumes?.find((volume) => volume.persistentVolumeClaim)?.persistentVolumeClaim?.claimName
    if (claimName === undefined) return undefined
    const claim: PersistentVolumeClaim | undefined = await plane.getJson('pvc', claimName, metadata.namespace)
    const volume: PersistentVolume | undefined = await plane.getJson('pv', claim?.spec?.volumeName ?? '')
    const { server = '', path = '' } = volume?.spec?.nfs ?? {}
    const why = brokenExports.get(`${server}:${path}`)
    return why && `MountVolume.SetUp failed for volume "${claimName}" : mount failed: exit status 32\nOutput: ${why}`
  }

  function missingDirectoryOf({ spec }: Pod): string | undefined {
    const missing = spec?.volumes?.find(
      ({ hostPath }) => hostPath?.type === 'Directory' && !existsSync(pathOn(spec.nodeName ?? '', hostPath.path)),
    )
    return (
      missing &&
      `MountVolume.SetUp failed for volume "${missing.name}" : hostPath type check failed: ${missing.hostPath?.path} is not a directory`
    )
  }

  // Nothing in the status says why: kubelets only have an Event for it.
  async function failMount(pod: Pod, message: string): Promise<void> {
    await wait(pod, 'ContainerCreating')
    await writeStatus(pod, { conditions: [...placed(pod), { type: 'PodReadyToStartContainers', status: 'False' }] })
    const { namespace = 'default', name = '', uid = '' } = pod.metadata
    const now = new Date().toISOString()
    const involvedObject = { apiVersion: 'v1', kind: 'Pod', namespace, name, uid }
    await plane.api.request('POST', `/api/v1/namespaces/${namespace}/events`, {
      metadata: { name: `${name}.failed-mount`, namespace },
      involvedObject,
      type: 'Warning',
      reason: 'FailedMount',
      message,
      count: 1,
      firstTimestamp: now,
      lastTimestamp: now,
      source: { component: 'kubelet', host: pod.spec?.nodeName },
    })
  }

  async function writeStatus({ metadata: { namespace, name, uid } }: Pod, status: object): Promise<void> {
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/status`
    const { status: code } = await plane.api.request('PATCH', path, { metadata: { uid }, status }, merge)
    // The pod is gone by now, or replaced by another one of the same name: the status is obsolete.
    if (code >= 300 && code !== 404 && code !== 409) throw new Error(`PATCH ${path}: ${code}`)
  }

  async function environmentOf(
    pod: Pod,
    container: Container,
  ): Promise<{ env: Record<string, string> } | { missing: string }> {
    const env: Record<string, string> = {}
    for (const { name, value, valueFrom } of container.env ?? []) {
      const secretRef = valueFrom?.secretKeyRef
      if (secretRef) {
        const secret = await plane.getJson('secrets', secretRef.name, pod.metadata.namespace)
        if (!secret) return { missing: `secret "${secretRef.name}" not found` }
        const encoded = (secret['data'] as Record<string, string> | undefined)?.[secretRef.key]
        if (encoded === undefined) {
          if (secretRef.optional) continue
          return {
            missing: `could not find key ${secretRef.key} in Secret ${pod.metadata.namespace}/${secretRef.name}`,
          }
        }
        env[name] = Buffer.from(encoded, 'base64').toString()
      } else if (valueFrom?.fieldRef) {
        env[name] = fieldOf(pod, valueFrom.fieldRef.fieldPath)
      } else {
        env[name] = value ?? ''
      }
    }
    return { env }
  }

  // A directory of the node, or one of the pod's own: what is above that in the container is the pod's as well.
  async function mountsOf(pod: Pod, container: Container, volumes: readonly PodVolume[], folder: string) {
    const mounts: Mount[] = [{ mountPath: '', source: join(folder, ROOT) }]
    for (const { name, mountPath } of container.volumeMounts ?? []) {
      const hostPath = volumes.find((one) => one.name === name)?.hostPath
      const source = hostPath ? pathOn(pod.spec?.nodeName ?? '', hostPath.path) : join(folder, ROOT, mountPath)
      await mkdir(source, { recursive: true })
      mounts.push({ mountPath, source })
    }
    return mounts
  }

  async function run(): Promise<void> {
    while (!aborter.signal.aborted) {
      await turn().catch(logFault)
      await sleep(POLL_MS)
    }
  }

  const running = run()
  plane.onStop(async () => {
    aborter.abort()
    await running
    await Promise.all([...held.values()].map(({ process }) => process?.kill()))
    // The last statuses are written before the client of the API server is closed.
    await Promise.all([...held.values()].map(({ ended }) => ended))
  })
  return {
    pathOn,
    started,
    brokenExports,
    brokenNodes,
    addImage(name, command) {
      images[name] = command
    },
    async strike(manager, blow) {
      const struck = [...held.values()].filter((one) => one.manager === manager && one.process?.hasExited() === false)
      for (const one of struck) one.blow = blow
      await Promise.all(struck.map(({ process }) => process?.kill()))
      return struck.length
    },
    disconnectNode: (name) => {
      lost.add(name)
    },
    returnNode: (name) => {
      lost.delete(name)
    },
    async loseNode(name) {
      lost.add(name)
      const list = (await plane.listJson('pods')) as unknown as Pod[]
      const there = list.filter(({ spec }) => spec?.nodeName === name)
      await Promise.all(there.map(({ metadata }) => held.get(metadata.uid ?? '')?.process?.kill()))
      await rm(join(disks, name), { recursive: true, force: true })
    },
  }
}

// The condition of the scheduler, which a merge patch of the list would drop.
function placed({ status }: Pod) {
  return (status?.conditions ?? []).filter(({ type }) => type === 'PodScheduled')
}

interface Mount {
  mountPath: string
  source: string
}

// In a container the word would be right as it is. Of other absolute paths, those above a mount are meant.
function inFolder(word: string, mounts: readonly Mount[]): string {
  const isAbove = mounts.some(({ mountPath }) => mountPath.startsWith(`${word}/`))
  const mount = mounts
    .filter(({ mountPath }) => mountPath && (word === mountPath || word.startsWith(`${mountPath}/`)))
    .toSorted((one, other) => other.mountPath.length - one.mountPath.length)[0]
  const there = mount ?? (isAbove && word.startsWith('/') ? mounts[0] : undefined)
  return there ? there.source + word.slice(there.mountPath.length) : word
}

async function writeDownward({ metadata, spec }: Pod, folder: string): Promise<void> {
  for (const { name, downwardAPI } of spec?.volumes ?? []) {
    const at = spec?.containers[0]?.volumeMounts?.find((mount) => mount.name === name)?.mountPath
    for (const { path, fieldRef } of (at !== undefined && downwardAPI?.items) || []) {
      const file = join(folder, ROOT, at ?? '', path)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, fieldOf({ metadata, spec } as Pod, fieldRef.fieldPath))
    }
  }
}

function fieldOf({ metadata, spec }: Pod, path: string): string {
  const annotation = /^metadata\.annotations\['(.+)'\]$/.exec(path)?.[1]
  if (annotation !== undefined) return metadata.annotations?.[annotation] ?? ''
  const fields: Record<string, string | undefined> = {
    'metadata.name': metadata.name,
    'metadata.namespace': metadata.namespace,
    'metadata.uid': metadata.uid,
    'spec.nodeName': spec?.nodeName,
  }
  const value = fields[path]
  if (value === undefined) throw new Error(`field ${path} is not known`)
  return value
}

async function messageOf(container: Container, folder: string, exitCode: number): Promise<string> {
  const said = (await readFile(join(folder, 'termination-log'))).subarray(0, TERMINATION_LOG_BYTES).toString()
  if (said || exitCode === 0 || container.terminationMessagePolicy !== 'FallbackToLogsOnError') return said
  return (await readFile(join(folder, 'log'))).subarray(-FALLBACK_LOG_BYTES).toString()
}

function stateOf({ name, image }: Container, state: object): object {
  const ready = 'running' in state
  return { containerStatuses: [{ name, image, imageID: '', ready, restartCount: 0, state }] }
}

function isOver({ status }: Pod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed'
}
