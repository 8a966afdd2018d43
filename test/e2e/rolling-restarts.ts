// Replaces two replicas behind a balancer one after the other, again and again, while workloads are created in an enforced namespace.
// No creation of a binding fails, and none passes un-narrowed.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { resolvedFleet } from '../../bench/harness/fleet.ts'
import { seed } from '../../bench/harness/seed.ts'
import type { ApiResponse, KubeObject } from './api-client.ts'
import { type Balancer, startBalancer } from './balancer.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { installLodestone, leaseRights } from './lodestone.ts'
import { logToStderr } from './log.ts'
import { binding, deployment } from './manifests.ts'
import { makeTemporaryFolder, removeTemporaryFolder } from './processes.ts'
import { drainSeconds, isNarrowed, policyForAll, type Replica, startReplica } from './replicas.ts'

export interface RollingRestarts {
  // Each replaces both replicas.
  restarts: number
  workloads: number
  timeoutMs: number
}

interface BindingCreation {
  name: string
  code: number
  // Why it failed, as the API server says; absent if it did not.
  message?: string | undefined
  clusterNames: string[]
}

const sources = 100
const creators = 16
// The grace period of the chart's pods: the drain, 5 s to end, and 10 s for a busy machine.
const graceSeconds = drainSeconds + 15
// The detector creates some bindings twice, when it has not heard yet of the first time.
const ALREADY_EXISTS = 409
const namespace = 'default'

export function testRollingRestarts({ restarts, workloads, timeoutMs }: RollingRestarts): void {
  const perRestart = Math.ceil(workloads / restarts)
  let folder: string
  let auditLog: string
  let plane: ControlPlane
  let balancer: Balancer
  let kubeconfig: string
  let replicas: Replica[] = []
  let started = 0
  const stopTimes: number[] = []

  beforeAll(async () => {
    folder = await makeTemporaryFolder()
    auditLog = join(folder, 'audit.log')
    const policyFile = join(folder, 'policy.json')
    await writeFile(policyFile, JSON.stringify(auditPolicy))
    plane = await startControlPlane({
      flags: {
        // One file, however long: the default begins another one at 100 MB.
        'kube-apiserver': [
          `--audit-policy-file=${policyFile}`,
          `--audit-log-path=${auditLog}`,
          '--audit-log-maxsize=4096',
        ],
        // By default it makes ten bindings a second, so that most of them come when the restarts are over.
        'karmada-controller-manager': ['--rate-limiter-qps=1000', '--rate-limiter-bucket-size=1000'],
      },
    })
    // This test does not check the scheduling of the bindings.
    await plane.stop('karmada-scheduler')
    kubeconfig = await installLodestone(plane)
    await plane.apply(leaseRights())
    await seed(
      plane.url('etcd'),
      resolvedFleet(binding('first'), { claims: restarts * perRestart + 1, sources, bindings: 0 }),
    )
    await plane.kubectl(['label', 'namespace', namespace, 'lodestone.dev/enforce=true'])
    await mkdir(join(plane.dir, 'certificates'))
    balancer = await startBalancer()
    plane.onStop(() => balancer.stop())
    replicas = [await startNext(), await startNext()]
    await plane.apply(policyForAll())
  })

  afterAll(async () => {
    await plane?.stopAll()
    if (folder) await removeTemporaryFolder(folder)
  })

  test(
    `${restarts} rolling restarts of two replicas while ${restarts * perRestart} workloads are created pass each creation, narrowed`,
    async () => {
      const failures: string[] = []
      // The first replica writes before the balancer knows it.
      const failedOpenBefore = await failedOpen()
      let spreadMs = 10_000
      for (let round = 0; round < restarts; round++) {
        const began = Date.now()
        await Promise.all([createWorkloads(round * perRestart + 1, spreadMs, failures), rollingRestart()])
        // The next ones are spread over the time that this restart took, so that each moment of it has its creations.
        spreadMs = Date.now() - began
        logToStderr(`restart ${round + 1}: ${(spreadMs / 1000).toFixed(1)} s, ${failures.length} failed creations`)
      }

      await plane.eventually(
        'every workload has its binding',
        async () => {
          const { length } = (await bindingCreations()).filter(({ code }) => code === 201)
          return length >= restarts * perRestart || Promise.reject(new Error(`${length} bindings`))
        },
        timeoutMs / 2,
        1000,
      )
      const creations = await bindingCreations()
      const failed = creations.filter(({ code }) => code !== 201 && code !== ALREADY_EXISTS)
      const unNarrowed = creations.filter(
        ({ name, code, clusterNames }) => code === 201 && !isNarrowed(name, clusterNames, sources),
      )
      logToStderr(
        `${restarts} restarts, ${2 * restarts} replicas stopped in at most ${Math.max(...stopTimes)} ms; ` +
          `${restarts * perRestart} workloads created, ${failures.length} failed; ` +
          `${creations.length} bindings created, ${failed.length} failed, ${unNarrowed.length} un-narrowed`,
      )
      expect(failures).toEqual([])
      expect(failed).toEqual([])
      expect(unNarrowed).toEqual([])
      expect(await failedOpen()).toEqual(failedOpenBefore)
      expect(Math.max(...stopTimes)).toBeLessThan(graceSeconds * 1000)
    },
    timeoutMs,
  )

  // As a Deployment with maxSurge 1 and maxUnavailable 0 does it.
  async function rollingRestart(): Promise<number> {
    const restartBegan = Date.now()
    for (const old of replicas) {
      const fresh = await startNext()
      replicas = [...replicas.filter((replica) => replica !== old), fresh]
      const began = Date.now()
      // A pod that is not gone after its grace period is killed, which a test must not take for a stop.
      await old.lodestone.stop(60_000)
      stopTimes.push(Date.now() - began)
      balancer.remove(old)
    }
    return Date.now() - restartBegan
  }

  function startNext(): Promise<Replica> {
    return startReplica(plane, balancer, { name: `lodestone-${++started}`, kubeconfig })
  }

  async function createWorkloads(first: number, spreadMs: number, failures: string[]): Promise<void> {
    const began = Date.now()
    let next = 0
    async function create(): Promise<void> {
      for (let i = next++; i < perRestart; i = next++) {
        await sleep(Math.max(0, began + (i / perRestart) * spreadMs - Date.now()))
        const name = `workload-${first + i}`
        const { status, body } = await post(deployment(name))
        if (status !== 201) failures.push(`${name}: ${status} ${JSON.stringify(body)}`)
      }
    }
    await Promise.all(Array.from({ length: creators }, create))
  }

  function post(object: KubeObject): Promise<ApiResponse> {
    return plane.api.request('POST', `/apis/apps/v1/namespaces/${namespace}/deployments`, object)
  }

  async function bindingCreations(): Promise<BindingCreation[]> {
    const lines = (await readFile(auditLog, 'utf8')).trimEnd().split('\n')
    return lines.filter((line) => line !== '').map((line) => creationOf(JSON.parse(line) as AuditEvent))
  }

  // Calls that failed and did not count, since their webhook is `Ignore`.
  async function failedOpen(): Promise<string[]> {
    const { body } = await plane.api.request('GET', '/metrics')
    return String(body)
      .split('\n')
      .filter((line) => /^apiserver_admission_webhook_fail_open_count\{name="[^"]*lodestone/.test(line))
  }
}

interface AuditEvent {
  requestObject?: KubeObject
  responseObject?: KubeObject & { spec?: { placement?: { clusterAffinity?: { clusterNames?: string[] } } } }
  responseStatus?: { code: number; message?: string }
}

function creationOf({ requestObject, responseObject, responseStatus }: AuditEvent): BindingCreation {
  return {
    name: requestObject?.metadata.name ?? '',
    code: responseStatus?.code ?? 0,
    message: responseStatus?.message,
    clusterNames: responseObject?.spec?.placement?.clusterAffinity?.clusterNames ?? [],
  }
}

// The creations of bindings, with what was stored; Karmada's detector makes them, and would try again in silence.
const auditPolicy = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [
    {
      level: 'RequestResponse',
      verbs: ['create'],
      resources: [{ group: 'work.karmada.io', resources: ['resourcebindings'] }],
    },
    { level: 'None' },
  ],
}
