/** `lodestone migrate`: removes what volcano-global wrote into the objects of a hub, and keeps claims and sources. */
import { printable } from '../../base/printable.ts'
import { formatCount } from '../../base/quantity.ts'
import { openClusterStore } from '../../store/cluster/cluster.ts'
import { isWebhookFailure } from '../../store/cluster/webhook-probe.ts'
import { ConflictError, rejectionMessage } from '../../store/store.ts'
import { titleOfListed } from '../all-objects/collect-objects.ts'
import { repeating } from '../all-objects/patient-connection.ts'
import type { Arguments, Command, CommandIo } from '../command.ts'
import { CONNECTION_OPTIONS, connect } from '../options/connect.ts'
import {
  type Candidate,
  findBlockers,
  findCandidates,
  MIGRATED_TYPES,
  type MigrationContext,
  migrateObject,
  preview,
} from './apply.ts'

export const migrate: Command = {
  usage: '[--kubeconfig FILE] [--context NAME] [--keep-suspensions] [--apply]',
  options: {
    ...CONNECTION_OPTIONS,
    'keep-suspensions': {
      type: 'boolean',
      description: 'Keep suspensions of scheduling, for hubs where another controller suspends workloads',
    },
    apply: { type: 'boolean', description: 'Make the changes (default: only print them)' },
  },
  examples: [
    { command: 'lodestone migrate --kubeconfig karmada.config', does: 'Print every change, and make none' },
    { command: 'lodestone migrate --kubeconfig karmada.config --apply', does: 'Make the changes' },
  ],
  run: runMigrate,
}

/** For an object that was deleted, or changed by another client, since it was listed. */
const NOTHING_LEFT = 'nothing left to change'

/** Exit status: 0 if nothing is left to do. Otherwise 1: the hub is not ready, a change failed, or a signal ended the command. */
async function runMigrate(args: Arguments, io: CommandIo): Promise<number> {
  const connection = repeating(await connect(args, io), io)
  const store = openClusterStore({ connection, kinds: [] })
  const keepsSuspensions = args.flag('keep-suspensions')
  try {
    return await run({ connection, store, keepsSuspensions, signal: io.signal }, args.flag('apply'), io)
  } finally {
    await store.stop()
    await connection.close()
  }
}

async function run(context: MigrationContext, applies: boolean, io: CommandIo): Promise<number> {
  const blockers = await findBlockers(context)
  for (const blocker of blockers) io.stderr.write(`lodestone migrate: ${blocker}\n`)
  if (applies && blockers.length > 0) return 1
  const counts = { changed: 0, failed: 0 }
  try {
    for (const type of MIGRATED_TYPES) {
      for (const candidate of await findCandidates(type, context)) {
        context.signal.throwIfAborted()
        const describe = applies ? migrateOne : describePlan
        counts[(await report(candidate, () => describe(candidate, context), io)) ? 'changed' : 'failed']++
      }
    }
  } catch (error) {
    if (applies) io.stdout.write(migrationResult(counts))
    if (!context.signal.aborted) throw error
    io.stderr.write('lodestone migrate: interrupted; run again\n')
    return 1
  }
  io.stdout.write(migrationSummary(counts, applies))
  return counts.failed > 0 || blockers.length > 0 ? 1 : 0
}

async function describePlan(candidate: Candidate, context: MigrationContext): Promise<string> {
  return (await preview(candidate, context)).join('; ') || NOTHING_LEFT
}

/** Migrates an object, and returns what was done. */
async function migrateOne(candidate: Candidate, context: MigrationContext): Promise<string> {
  const migrated = await migrateObject(candidate, context)
  const hold = migrated?.hold === undefined ? '' : `; now on hold: ${migrated.hold}`
  return migrated ? `${migrated.changes.join('; ')}${hold}` : NOTHING_LEFT
}

/** Prints what is to do, or was done, with an object, or why that failed. Returns whether it worked; the next objects follow in any case. */
async function report(candidate: Candidate, describe: () => Promise<string>, io: CommandIo): Promise<boolean> {
  try {
    io.stdout.write(`${titleOfListed(candidate)}: ${printable(await describe())}\n`)
    return true
  } catch (error) {
    const reason = objectFailure(error)
    if (reason === undefined) throw error
    io.stderr.write(`lodestone migrate: ${titleOfListed(candidate)}: ${reason}\n`)
    return false
  }
}

/** Returns why this object cannot be changed now; undefined for an error that the next object would have too. */
function objectFailure(error: unknown): string | undefined {
  if (error instanceof ConflictError) return 'another client changes it all the time; run again'
  return isWebhookFailure(error) ? error.message : rejectionMessage(error)
}

interface Counts {
  changed: number
  failed: number
}

function migrationSummary(counts: Counts, applies: boolean): string {
  if (counts.changed + counts.failed === 0) return 'nothing of volcano-global is left\n'
  return applies
    ? migrationResult(counts)
    : `${formatCount(counts.changed, 'object')} to change; nothing was changed. Run again with --apply\n`
}

function migrationResult(counts: Counts): string {
  return `${formatCount(counts.changed, 'object')} changed, ${counts.failed} failed\n`
}
