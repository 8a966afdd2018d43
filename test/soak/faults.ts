// The faults of the soak test: from a seed, one at a time, each with the way back to health.
import { execFile } from 'node:child_process'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { request } from 'undici'
import type { AmoroServer } from '../e2e/amoro-server.ts'
import type { ControlPlane } from '../e2e/control-plane.ts'
import type { Random } from '../random.ts'
import type { Replicas } from './replicas.ts'
import { firstMembers } from './world.ts'

export interface FaultsInput {
  plane: ControlPlane
  catalog: AmoroServer
  replicas: Replicas
  certificates: string
  entry: string
  random: Random
}

const run = promisify(execFile)
const leasePath = '/apis/coordination.k8s.io/v1/namespaces/lodestone-system/leases/lodestone'
const mergePatch = 'application/merge-patch+json'

type Fault = (input: FaultsInput) => Promise<void>

const faults: Readonly<Record<string, { weight: number; strike: Fault }>> = {
  'leader killed': {
    weight: 5,
    async strike({ replicas, plane, random }) {
      await replicas.kill(await replicas.leader())
      // Half of the time the Lease is given back, as by an operator: the next leader begins in the middle of the work.
      if (random.chance(0.5)) await plane.api.request('DELETE', leasePath)
    },
  },
  'replica restarted': { weight: 3, strike: ({ replicas, random }) => replicas.restart(random.below(replicas.count)) },
  'Lease taken away': {
    weight: 2,
    async strike({ plane }) {
      const spec = { holderIdentity: 'another', renewTime: `${new Date().toISOString().slice(0, -1)}000Z` }
      await plane.api.request('PATCH', leasePath, { spec }, mergePatch)
    },
  },
  'catalog refuses': {
    weight: 2,
    async strike({ catalog, random }) {
      await catalog.stop()
      await sleep(2_000 + random.below(8_000))
      await catalog.start()
    },
  },
  'catalog hangs': { weight: 2, strike: (input) => answerWith(input, () => undefined) },
  'catalog fails': {
    weight: 2,
    strike: (input) => answerWith(input, (response) => void response.writeHead(500).end()),
  },
  'catalog answers garbage': {
    weight: 2,
    strike: (input) =>
      answerWith(
        input,
        (response) => void response.writeHead(200).end(input.random.pick(['', '{', '[]', '{"metadata":1}', '\0'])),
      ),
  },
  'API server restarted': { weight: 1, strike: ({ plane }) => plane.restart('kube-apiserver') },
  'etcd compacted': { weight: 2, strike: ({ plane }) => compact(plane) },
  'scheduler restarted': { weight: 1, strike: ({ plane }) => plane.restart('karmada-scheduler') },
  'controllers restarted': { weight: 1, strike: ({ plane }) => plane.restart('karmada-controller-manager') },
  'CA renewed': {
    weight: 1,
    async strike({ entry, certificates }) {
      await run(process.execPath, [entry, 'certs', '--renew', '--directory', certificates])
    },
  },
  'certificates deleted': {
    weight: 1,
    async strike({ certificates, replicas }) {
      for (const name of await readdir(certificates)) await rm(join(certificates, name), { recursive: true })
      // Replicas look once a minute; one that starts makes new ones at once.
      await replicas.restart(0)
    },
  },
  'member not ready': {
    weight: 3,
    async strike({ plane, random }) {
      const name = random.pick([...firstMembers.keys()])
      await plane.setClusterStatus(name, { ready: false })
      await sleep(2_000 + random.below(6_000))
      await plane.setClusterStatus(name, { ready: true })
    },
  },
}

const wheel = Object.entries(faults).flatMap(([name, { weight }]) => Array.from({ length: weight }, () => name))

// Strikes once; gives the name of the fault. A fault that meets another one's ruins is no failure of the test.
export async function strike(input: FaultsInput): Promise<string> {
  const name = input.random.pick(wheel)
  await faults[name]?.strike(input).catch(() => undefined)
  return name
}

// Everything runs again, whatever was struck.
export async function heal({ plane, catalog, replicas }: FaultsInput): Promise<void> {
  catalog.fault = undefined
  for (const component of plane.components) await plane.start(component)
  await replicas.allRun()
  for (const name of firstMembers.keys()) {
    await plane.eventually(`${name} is ready`, async () => {
      await plane.setClusterStatus(name, { ready: true })
      return true
    })
  }
}

async function answerWith({ catalog, random }: FaultsInput, fault: AmoroServer['fault']): Promise<void> {
  catalog.fault = fault
  await sleep(2_000 + random.below(8_000))
  catalog.fault = undefined
}

// Through etcd's JSON gateway: watches that are behind get a 410.
async function compact(plane: ControlPlane): Promise<void> {
  const post = async (path: string, body: object) => {
    const response = await request(`${plane.url('etcd')}${path}`, { method: 'POST', body: JSON.stringify(body) })
    return (await response.body.json()) as { header?: { revision?: string } }
  }
  const { header } = await post('/v3/maintenance/status', {})
  await post('/v3/kv/compaction', { revision: header?.revision ?? '1', physical: true })
}
