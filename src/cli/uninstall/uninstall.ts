/** `lodestone uninstall`: removes everything that Lodestone wrote into the objects of an API server, and its installation. */

import { loadConfig } from '../../app/config/config.ts'
import { defined } from '../../base/json.ts'
import { systemClock } from '../../base/time/clock.ts'
import { admissionRules } from '../../core/uninstall/installation.ts'
import { dataKept, type NodeData } from '../../core/uninstall/volumes.ts'
import type { ApiConnection } from '../../store/cluster/api-connection.ts'
import { isForbidden } from '../../store/cluster/api-error.ts'
import { openClusterStore } from '../../store/cluster/cluster.ts'
import { isUninstalling, type Lease } from '../../store/cluster/lease.ts'
import { openAnswerProbe, openWebhookProbe } from '../../store/cluster/webhook-probe.ts'
import { titleOfListed } from '../all-objects/collect-objects.ts'
import { repeating } from '../all-objects/patient-connection.ts'
import type { Arguments, Command, CommandIo } from '../command.ts'
import { CONNECTION_OPTIONS, connect, openHostConnection, selectConnection } from '../options/connect.ts'
import { configOption } from '../options/read-config.ts'
import { readDuration } from '../options/read-values.ts'
import { PLAIN_FORMATS, PLAIN_OUTPUT_OPTION, readFormat } from '../output.ts'
import { removeTraces } from './apply.ts'
import { deleteData, findData, hasManagers, listData } from './data.ts'
import { findAllLeases, findLeases, isConfigured } from './find-leases.ts'
import {
  type Candidate,
  type Choices,
  type Gathered,
  gatherBy,
  gatherTraces,
  keptLine,
  pause,
  type UninstallContext,
} from './gather.ts'
import { deleteLease, hasLeader, withdraw } from './leader.ts'
import { limited, type Removed, type Report, renderReport } from './report.ts'

export const uninstall: Command = {
  usage: '[--kubeconfig FILE] [--yes] [--keep-data] [--restore] [--crds] [-o text|json|yaml]',
  options: {
    ...CONNECTION_OPTIONS,
    ...configOption(),
    yes: { type: 'boolean', description: 'Make the changes (default: only print them)' },
    'keep-data': { type: 'boolean', description: 'Keep VolumeManagers and their data on nodes (default: delete both)' },
    restore: {
      type: 'boolean',
      description: 'Give narrowed workloads the placement of their policies, which may move them',
    },
    crds: {
      type: 'boolean',
      description: 'Delete the CRDs too, and with them all claims, sources and VolumeManagers',
    },
    timeout: {
      type: 'string',
      value: 'DURATION',
      description: 'How long Lodestone may take to delete the data, e.g. 90s (default: 5m)',
    },
    ...PLAIN_OUTPUT_OPTION,
  },
  examples: [
    {
      command: 'lodestone uninstall --kubeconfig karmada.config',
      does: 'Print what would be removed, and change nothing',
    },
    { command: 'lodestone uninstall --yes', does: 'Delete the data on nodes, stop Lodestone and remove its traces' },
    {
      command: 'lodestone uninstall --yes --keep-data',
      does: 'Keep the data on nodes, for instance if Lodestone is gone',
    },
  ],
  run: runUninstall,
}

/** A webhook of which the API server still knows, or a controller of Karmada, may write a trace again. */
const MAX_PASSES = 5
/** kube-apiserver follows its webhook configurations by a watch. */
const UNREGISTERED_MS = 30_000
const POLL_MS = 500

/** How long an object may wait for the finalizers of other controllers. */
const ENDING_MS = 30_000
const ENDING = 'it is being deleted, and waits for the finalizers of other controllers'
const WRITTEN_AGAIN = 'another client writes it all the time; stop Lodestone, and run again'
const ALONE =
  'a replica without leader election, or with its Lease in another cluster, answers the API server and would write again what is removed; stop all replicas, for instance with kubectl -n lodestone-system scale deployment lodestone --replicas=0 in the cluster of their pods, and run again'

/** The command of an administrator may write faster than a controller. The API server answers 429 before it is overloaded. */
const RATE = { writesPerSecond: 200, burst: 200 }
/** The number of objects of one kind that are written at the same time. */
const PARALLEL = 8

interface Wanted extends Choices {
  keepsData: boolean
  timeoutMs: number
}

/** Exit status: 0 if everything is removed, or after a dry run; 1 if something is left. */
async function runUninstall(args: Arguments, io: CommandIo): Promise<number> {
  const format = readFormat(args, PLAIN_FORMATS)
  const wanted: Wanted = {
    restores: args.flag('restore'),
    deletesDefinitions: args.flag('crds'),
    keepsData: args.flag('keep-data'),
    timeoutMs: readDuration('timeout', args.text('timeout') ?? '5m'),
  }
  const config = loadConfig(args.text('config'))
  const { signal, clock = systemClock } = io
  const connection = await connect(args, io)
  // Only the configuration tells which Lodestone of that cluster serves this API server.
  const host = args.text('config') && (await openHostConnection(selectConnection(args, io, { usesHome: true }), io))
  const contextOf = (to: ApiConnection): UninstallContext => {
    const patient = repeating(to, { signal, clock })
    const store = openClusterStore({ connection: patient, kinds: [], clock, ...RATE })
    return { connection: patient, store, config, signal, now: io.now, clock }
  }
  const context = contextOf(connection)
  const hostContext = host ? contextOf(host) : undefined
  try {
    const report = await (args.flag('yes') ? remove(context, hostContext, wanted, io) : preview(context, wanted))
    for (const line of limited(report.failures)) io.stderr.write(`lodestone uninstall: ${line}\n`)
    io.stdout.write(renderReport(report, format))
    return report.failures.length > 0 ? 1 : 0
  } catch (error) {
    if (io.signal.aborted) io.stderr.write('lodestone uninstall: interrupted; run again\n')
    throw error
  } finally {
    for (const opened of hostContext ? [context, hostContext] : [context]) {
      await opened.store.stop()
      await opened.connection.close()
    }
  }
}

async function preview(context: UninstallContext, wanted: Wanted): Promise<Report> {
  const { candidates, keeps, unreadable } = await gatherTraces(context, wanted)
  const removed = candidates.map(({ removal, ...object }) => ({ ...object, removes: removal.removes }))
  const data = wanted.keepsData ? [] : await findData(context)
  const deleted = new Set(data.map(dataKept))
  const kept = [
    ...(data.length > 0 ? [`data that --yes deletes, unless --keep-data is given: ${listData(data)}`] : []),
    ...keeps.filter(({ what }) => !deleted.has(what)).map(keptLine),
  ]
  return { result: 'planned', removed, keeps: kept, failures: unreadable }
}

async function remove(
  context: UninstallContext,
  hostContext: UninstallContext | undefined,
  wanted: Wanted,
  io: CommandIo,
): Promise<Report> {
  const atMs = context.clock.now()
  const election = await findElection(context, hostContext)
  const blocked = await prepare(election, { context, wanted, io })
  if (blocked !== undefined) return { result: 'incomplete', removed: [], keeps: [], failures: [blocked] }
  const { removed, keeps, failures } = await removeAll(context, wanted)
  if (failures.length > 0) return { result: 'incomplete', removed, keeps: [...keeps], failures }
  for (const lease of election.leases) {
    const stays = await deleteLease({ lease, atMs }, election.context)
    if (stays !== undefined) keeps.add(stays)
  }
  return { result: 'removed', removed, keeps: [...keeps], failures }
}

/** The Leases of Lodestone, and the API server that has them. */
interface ElectionPlace {
  leases: readonly Lease[]
  context: UninstallContext
}

/** In pods beside a hub, Lodestone has its Lease in the cluster of the pods, where the Job of the chart runs too. */
async function findElection(
  context: UninstallContext,
  hostContext: UninstallContext | undefined,
): Promise<ElectionPlace> {
  const leases = await findLeases(context)
  if (leases.length > 0 || !hostContext) return { leases, context }
  try {
    // Another Lodestone may serve that cluster.
    const found = (await findAllLeases(hostContext)).filter((lease) => isConfigured(lease, hostContext))
    return { leases: found, context: hostContext }
  } catch (error) {
    // The pod of the command may be in any cluster.
    if (!isForbidden(error)) throw error
    return { leases, context }
  }
}

interface Preparation {
  context: UninstallContext
  wanted: Wanted
  io: CommandIo
}

/** Deletes the data and ends the work of all replicas. Returns why that is not possible, and the remedy. */
async function prepare(
  { leases, context: place }: ElectionPlace,
  { context, wanted: { keepsData, timeoutMs }, io }: Preparation,
): Promise<string | undefined> {
  let found: Promise<boolean> | undefined
  // It may wait until a Lease would expire.
  const isLed = () => (found ??= anyLeads(leases, place))
  const isWithdrawn = leases.some((lease) => isUninstalling(lease, context.now()))
  const isAlone = !isWithdrawn && (await answers(context)) && !(await isLed())
  if (!keepsData) {
    const data = await findData(context)
    // Without election and without webhooks, it shows only in the deletion of data whether Lodestone runs.
    const mayDelete = async () => isAlone || (leases.length === 0 ? data.length > 0 : isLed())
    const left = await deleteThroughLodestone(data, mayDelete, context, timeoutMs, io)
    if (left !== undefined) return left
  }
  return isAlone ? ALONE : withdraw(leases, place)
}

/** Whether a replica answers the API server. It may be of any version. */
async function answers({ connection, signal }: UninstallContext): Promise<boolean> {
  for (const probe of [openAnswerProbe(connection), openWebhookProbe(connection)]) {
    if ((await probe(signal)).result === 'seen') return true
  }
  return false
}

/** Deletes VolumeManagers and data, if a replica runs that can do it. Returns why data is left, and the remedy. */
async function deleteThroughLodestone(
  data: readonly NodeData[],
  mayDelete: () => Promise<boolean>,
  context: UninstallContext,
  timeoutMs: number,
  io: CommandIo,
): Promise<string | undefined> {
  if (data.length === 0 && !(await hasManagers(context))) return undefined
  if (await mayDelete()) {
    io.stderr.write('lodestone uninstall: waiting until Lodestone has deleted VolumeManagers and their data\n')
    return deleteData(context, timeoutMs)
  }
  if (data.length === 0) return undefined
  return `no replica of Lodestone leads, so the data cannot be deleted: ${listData(data)}; start Lodestone, or run with --keep-data`
}

async function anyLeads(leases: readonly Lease[], context: UninstallContext): Promise<boolean> {
  return (await Promise.all(leases.map((lease) => hasLeader(lease, context)))).includes(true)
}

/** The result of a removal. */
interface Done {
  removed: Removed[]
  keeps: Set<string>
  failures: string[]
}

/** Removes all traces in passes, until a pass finds none. The registrations come first. */
async function removeAll(context: UninstallContext, choices: Choices): Promise<Done> {
  const done: Done = { removed: [], keeps: new Set(), failures: [] }
  await removeEach(await gatherBy(admissionRules, context), context, done)
  await untilUnregistered(context)
  const endsAt = context.clock.now() + ENDING_MS
  for (let pass = 1; done.failures.length === 0; ) {
    const gathered = await gatherTraces(context, choices)
    if (gathered.candidates.length > 0 && pass++ > MAX_PASSES) {
      for (const one of gathered.candidates) done.failures.push(`${titleOfListed(one)}: ${WRITTEN_AGAIN}`)
    } else if (gathered.candidates.length > 0 || gathered.unreadable.length > 0) {
      await removeEach(gathered, context, done)
    } else {
      // What stays now, such as a field without its annotation, is not known to the next pass.
      for (const one of gathered.keeps) done.keeps.add(keptLine(one))
      if (gathered.ending.length === 0 || context.clock.now() >= endsAt) {
        for (const one of gathered.ending) done.keeps.add(`${titleOfListed(one)}: ${ENDING}`)
        break
      }
      await pause(context, POLL_MS)
    }
  }
  return done
}

/** Writes the objects kind by kind, in the order of the rules, a few of one kind at the same time. */
async function removeEach({ candidates, keeps, unreadable }: Gathered, context: UninstallContext, done: Done) {
  for (const one of keeps) done.keeps.add(keptLine(one))
  done.failures.push(...unreadable)
  for (const members of Map.groupBy(candidates, ({ rule }) => rule).values()) {
    const queue = members.values()
    await Promise.all(
      Array.from({ length: PARALLEL }, async () => {
        for (const candidate of queue) await removeOne(candidate, context, done)
      }),
    )
  }
}

async function removeOne(candidate: Candidate, context: UninstallContext, done: Done): Promise<void> {
  context.signal.throwIfAborted()
  const { type, namespace, name } = candidate
  const result = await removeTraces(candidate, context)
  if (result === 'conflict') return
  if ('failure' in result) done.failures.push(`${titleOfListed(candidate)}: ${result.failure}`)
  else if (result.removes.length > 0) {
    done.removed.push(defined({ type, namespace, name, removes: result.removes }))
  }
}

/** Waits until the API server does not call the webhooks any more. It learns of their deletion after a moment. */
async function untilUnregistered(context: UninstallContext): Promise<void> {
  const { connection, signal, clock } = context
  const probe = openWebhookProbe(connection)
  const until = clock.now() + UNREGISTERED_MS
  while ((await probe(signal)).result === 'seen' && clock.now() < until) {
    await pause(context, POLL_MS)
  }
}
