/** `lodestone uninstall`: removes everything that Lodestone wrote into the objects of an API server, and its installation. */
import { setTimeout as sleep } from 'node:timers/promises'
import { loadConfig } from '../../app/config/config.ts'
import { admissionRules } from '../../core/uninstall/installation.ts'
import { openClusterStore } from '../../store/cluster/cluster.ts'
import type { Lease } from '../../store/cluster/lease.ts'
import { openWebhookProbe } from '../../store/cluster/webhook-probe.ts'
import { type Arguments, type Command, type CommandIo, HELP_OPTION } from '../command.ts'
import { CONNECTION_OPTIONS, connect } from '../connect.ts'
import { PLAIN_FORMATS, PLAIN_OUTPUT_OPTION, readFormat } from '../output.ts'
import { readDuration } from '../read-duration.ts'
import { removeTraces } from './apply.ts'
import { deleteData, findData, hasManagers, listData } from './data.ts'
import { type Choices, type Gathered, gatherBy, gatherTraces, titleOf, type UninstallContext } from './gather.ts'
import { deleteLease, findLeases, hasLeader, withdraw } from './leader.ts'
import { limited, type Removed, type Report, renderReport } from './report.ts'

export const uninstall: Command = {
  name: 'uninstall',
  summary: 'Remove Lodestone and everything that it wrote from a hub or a cluster',
  usage: '[--kubeconfig FILE] [--yes] [--keep-data] [--restore] [--crds] [-o text|json|yaml]',
  options: {
    ...CONNECTION_OPTIONS,
    config: { type: 'string', short: 'c', value: 'FILE', description: 'Configuration file of the server' },
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
    ...HELP_OPTION,
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
  const connection = await connect(args, io)
  const store = openClusterStore({ connection, kinds: [] })
  const context: UninstallContext = { connection, store, config, signal: io.signal, now: io.now }
  try {
    const report = await (args.flag('yes') ? remove(context, wanted, io) : preview(context, wanted))
    for (const line of limited(report.failures)) io.stderr.write(`lodestone uninstall: ${line}\n`)
    io.stdout.write(renderReport(report, format))
    return report.failures.length > 0 ? 1 : 0
  } catch (error) {
    if (io.signal.aborted) io.stderr.write('lodestone uninstall: interrupted; run again\n')
    throw error
  } finally {
    await store.stop()
    await connection.close()
  }
}

async function preview(context: UninstallContext, wanted: Wanted): Promise<Report> {
  const { candidates, keeps, unreadable } = await gatherTraces(context, wanted)
  const removed = candidates.map(({ removal, ...object }) => ({ ...object, removes: removal.removes }))
  const data = wanted.keepsData ? [] : await findData(context)
  const deleted = data.length > 0 ? [`data that --yes deletes, unless --keep-data is given: ${listData(data)}`] : []
  return { result: 'planned', removed, keeps: deleted.length > 0 ? deleted : keeps, failures: unreadable }
}

async function remove(context: UninstallContext, wanted: Wanted, io: CommandIo): Promise<Report> {
  const atMs = performance.now()
  const leases = await findLeases(context)
  const blocked = await prepare(leases, context, wanted, io)
  if (blocked !== undefined) return { result: 'incomplete', removed: [], keeps: [], failures: [blocked] }
  const { removed, keeps, failures } = await removeAll(context, wanted)
  if (failures.length > 0) return { result: 'incomplete', removed, keeps: [...keeps], failures }
  for (const lease of leases) {
    const stays = await deleteLease({ lease, atMs }, context)
    if (stays !== undefined) keeps.add(stays)
  }
  return { result: 'removed', removed, keeps: [...keeps], failures }
}

/** Deletes the data and ends the work of all replicas. Returns why that is not possible, and the remedy. */
async function prepare(
  leases: readonly Lease[],
  context: UninstallContext,
  { keepsData, timeoutMs }: Wanted,
  io: CommandIo,
): Promise<string | undefined> {
  const probe = openWebhookProbe(context.connection)
  if (leases.length === 0 && (await probe(context.signal)).result === 'seen') {
    return 'Lodestone runs, and its Lease is not on this API server, so the command cannot end its loops; stop it, for example with helm uninstall in the host cluster, and run again'
  }
  if (!keepsData) {
    const left = await deleteThroughLodestone(leases, context, timeoutMs, io)
    if (left !== undefined) return left
  }
  for (const lease of leases) {
    const failure = await withdraw(lease, context)
    if (failure !== undefined) return failure
  }
  return undefined
}

/** Deletes VolumeManagers and data, if a replica leads. Returns why data is left, and the remedy. */
async function deleteThroughLodestone(
  leases: readonly Lease[],
  context: UninstallContext,
  timeoutMs: number,
  io: CommandIo,
): Promise<string | undefined> {
  const data = await findData(context)
  if (data.length === 0 && !(await hasManagers(context))) return undefined
  // Without election, it shows only in the deletion of data whether Lodestone runs.
  const mayDelete = leases.length === 0 ? data.length > 0 : await anyLeads(leases, context)
  if (mayDelete) {
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
  const endsAt = performance.now() + ENDING_MS
  for (let pass = 1; done.failures.length === 0; ) {
    const gathered = await gatherTraces(context, choices)
    if (gathered.candidates.length > 0 && pass++ > MAX_PASSES) {
      done.failures.push(...gathered.candidates.map((one) => `${titleOf(one)}: ${WRITTEN_AGAIN}`))
    } else if (gathered.candidates.length > 0 || gathered.unreadable.length > 0) {
      await removeEach(gathered, context, done)
    } else {
      // What stays now, such as a field without its annotation, is not known to the next pass.
      for (const line of gathered.keeps) done.keeps.add(line)
      if (gathered.ending.length === 0 || performance.now() >= endsAt) {
        for (const one of gathered.ending) done.keeps.add(`${titleOf(one)}: ${ENDING}`)
        break
      }
      await sleep(POLL_MS, undefined, { signal: context.signal })
    }
  }
  return done
}

async function removeEach({ candidates, keeps, unreadable }: Gathered, context: UninstallContext, done: Done) {
  for (const line of keeps) done.keeps.add(line)
  done.failures.push(...unreadable)
  for (const candidate of candidates) {
    context.signal.throwIfAborted()
    const result = await removeTraces(candidate, context)
    if (result === 'conflict') continue
    if ('failure' in result) done.failures.push(`${titleOf(candidate)}: ${result.failure}`)
    else if (result.removes.length > 0) done.removed.push({ ...candidate, removes: result.removes })
  }
}

/** Waits until the API server does not call the webhooks any more. It learns of their deletion after a moment. */
async function untilUnregistered({ connection, signal }: UninstallContext): Promise<void> {
  const probe = openWebhookProbe(connection)
  const until = performance.now() + UNREGISTERED_MS
  while ((await probe(signal)).result === 'seen' && performance.now() < until) {
    await sleep(POLL_MS, undefined, { signal })
  }
}
