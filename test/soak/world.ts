// What the users of the soak test want: every object that they write, with each value that may still be in force.
import { setTimeout as sleep } from 'node:timers/promises'
import type { AmoroServer } from '../e2e/amoro-server.ts'
import type { KubeObject } from '../e2e/api-client.ts'
import type { ControlPlane } from '../e2e/control-plane.ts'
import { deployment, job, policy, tableClaim } from '../e2e/manifests.ts'
import type { Random } from '../random.ts'
import { type ClaimIntent, type Members, type Placement, Timeline, type WorkloadIntent } from './model.ts'

export const namespace = 'soak'

// Which members hold what lies in each warehouse.
export const warehouses: Readonly<Record<string, readonly string[]>> = {
  'warehouse-a': ['member1', 'member2'],
  'warehouse-b': ['member3'],
  'warehouse-c': ['member2', 'member3', 'member4'],
  'warehouse-d': ['member5'],
  'warehouse-e': ['member1', 'member3', 'member5'],
}

const tiers = ['core', 'edge'] as const
export const firstMembers: Members = new Map(
  [1, 2, 3, 4, 5].map((i) => [`member${i}`, { tier: tiers[i % 2] as string }]),
)

interface Workload extends WorkloadIntent {
  // Whether the workload itself was written; its claims and its policy may be there before it.
  isRunning: boolean
}

export interface WorldInput {
  plane: ControlPlane
  catalog: AmoroServer
  random: Random
}

export class World {
  readonly workloads = new Map<string, Workload>()
  readonly members = new Timeline<Members>(firstMembers)
  readonly #plane: ControlPlane
  readonly #catalog: AmoroServer
  readonly #random: Random
  #created = 0

  constructor({ plane, catalog, random }: WorldInput) {
    this.#plane = plane
    this.#catalog = catalog
    this.#random = random
  }

  // The workload whose binding this is; undefined for one that is deleted.
  ofBinding(name: string): Workload | undefined {
    return this.workloads.get(name.replace(/-(deployment|job)$/, ''))
  }

  // Writes the policy and the claims of a new workload, which follows at once or much later.
  async prepare(): Promise<Workload> {
    const name = `workload-${++this.#created}`
    const claims = Array.from({ length: this.#random.chance(0.25) ? 2 : 1 }, (_, i) => this.#newClaim(`${name}-${i}`))
    const workload: Workload = {
      name,
      kind: this.#random.chance(0.2) ? 'Job' : 'Deployment',
      placement: new Timeline(this.#anyPlacement(true)),
      claims,
      isRunning: false,
    }
    this.workloads.set(name, workload)
    await this.#applyPolicy(workload)
    for (const claim of claims) await this.createClaim(workload, claim)
    return workload
  }

  async run(workload: Workload): Promise<void> {
    workload.isRunning = true
    await this.#persist(() => this.#plane.api.apply(manifestOf(workload)))
  }

  async remove(workload: Workload): Promise<void> {
    this.workloads.delete(workload.name)
    const objects = [
      manifestOf(workload),
      this.#policyOf(workload),
      ...workload.claims.map((claim) => claimOf(workload, claim)),
    ]
    for (const object of this.#random.shuffled(objects)) await this.#delete(object)
    for (const { name } of workload.claims) this.#catalog.tables.delete(tableOf(name))
  }

  async changePolicy(workload: Workload): Promise<void> {
    workload.placement.set(this.#anyPlacement(false))
    await this.#applyPolicy(workload)
  }

  // A write that changes nothing about placement: Karmada's detector writes the binding again.
  async scale(workload: Workload): Promise<void> {
    if (workload.kind === 'Job' || !workload.isRunning) return
    const object = manifestOf(workload)
    const spec = { ...(object['spec'] as object), replicas: 1 + this.#random.below(5) }
    await this.#persist(() => this.#plane.api.apply({ ...object, spec }))
  }

  moveData(claim: ClaimIntent): void {
    const [warehouse, clusters] = this.#random.pick(Object.entries(warehouses))
    claim.data.set(clusters)
    this.#catalog.tables.set(tableOf(claim.name), `s3://${warehouse}/${claim.name}`)
  }

  loseData(claim: ClaimIntent): void {
    claim.data.set(undefined)
    this.#catalog.tables.delete(tableOf(claim.name))
  }

  async deleteClaim(workload: Workload, claim: ClaimIntent): Promise<void> {
    claim.isPresent.set(false)
    await this.#delete(claimOf(workload, claim))
  }

  async createClaim(workload: Workload, claim: ClaimIntent): Promise<void> {
    const object = claimOf(workload, claim)
    // One that is being deleted stays for some seconds.
    await this.#persist(async () => {
      const stored = await this.#plane.getJson(object.kind, object.metadata.name, namespace)
      if (stored?.metadata['deletionTimestamp'] !== undefined) throw new Error('it is being deleted')
      await this.#plane.api.apply(object)
    })
    if (!claim.isPresent.current) claim.isPresent.set(true)
  }

  async relabel(member: string): Promise<void> {
    const labels = { tier: this.#random.pick(tiers) }
    this.members.set(new Map(this.members.current).set(member, labels))
    const path = `/apis/cluster.karmada.io/v1alpha1/clusters/${member}`
    await this.#persist(() =>
      this.#plane.api.expect('PATCH', path, { metadata: { labels } }, 'application/merge-patch+json'),
    )
  }

  // Everything is at rest: what was before is no longer in force.
  settle(): void {
    this.members.settle()
    for (const { kind, placement, claims } of this.workloads.values()) {
      placement.settle()
      for (const { isPresent, data } of claims) {
        isPresent.settle()
        // A Job that runs may stay where its data was at any time.
        if (kind !== 'Job') data.settle((clusters) => clusters !== undefined)
      }
    }
  }

  #newClaim(name: string): ClaimIntent {
    const [warehouse, clusters] = this.#random.pick(Object.entries(warehouses))
    this.#catalog.tables.set(tableOf(name), `s3://${warehouse}/${name}`)
    return {
      name,
      enforcement: this.#random.chance(0.85) ? 'Required' : 'Preferred',
      isPresent: new Timeline(false),
      data: new Timeline<readonly string[] | undefined>(clusters),
    }
  }

  #anyPlacement(isFirst: boolean): Placement {
    const names = [...firstMembers.keys()]
    const some = () => this.#random.shuffled(names).slice(0, 2 + this.#random.below(4))
    const kind = this.#random.below(isFirst ? 4 : 5)
    if (kind === 0) return { clusterAffinity: { clusterNames: names } }
    if (kind === 1) return { clusterAffinity: { labelSelector: { matchLabels: { tier: this.#random.pick(tiers) } } } }
    if (kind === 2) return { clusterAffinity: { exclude: [this.#random.pick(names)] } }
    if (kind === 3) {
      const groups = ['primary', 'backup'].map((affinityName) => ({ affinityName, clusterNames: some() }))
      return { clusterAffinities: groups }
    }
    return { clusterAffinity: { clusterNames: some() } }
  }

  async #applyPolicy(workload: Workload): Promise<void> {
    await this.#persist(() => this.#plane.api.apply(this.#policyOf(workload)))
  }

  #policyOf(workload: Workload): KubeObject {
    return policy(workload.name, { workload: manifestOf(workload), placement: workload.placement.current, namespace })
  }

  async #delete({ kind, metadata }: KubeObject): Promise<void> {
    await this.#persist(async () => {
      const path = `${await this.#plane.api.collection(kind, namespace)}/${metadata.name}`
      const { status } = await this.#plane.api.request('DELETE', path, { propagationPolicy: 'Background' })
      if (status >= 300 && status !== 404) throw new Error(`DELETE ${path}: ${status}`)
    })
  }

  // The API server is restarted, and enforced namespaces refuse writes while Lodestone is away: users try again.
  async #persist(write: () => Promise<unknown>): Promise<void> {
    const deadline = Date.now() + 180_000
    for (;;) {
      try {
        await write()
        return
      } catch (error) {
        if (Date.now() > deadline) throw error
        await sleep(300)
      }
    }
  }
}

function manifestOf({ name, kind }: Workload): KubeObject {
  const object = kind === 'Job' ? job(name) : deployment(name)
  return { ...object, metadata: { ...object.metadata, namespace } }
}

function claimOf(workload: Workload, { name, enforcement }: ClaimIntent): KubeObject {
  const options = { data: tableOf(name), workload: manifestOf(workload), policy: { enforcement }, namespace }
  return tableClaim(name, options)
}

function tableOf(claim: string): string {
  return `catalog.database.${claim}`
}
