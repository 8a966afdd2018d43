/** What waits, and what a user can do about it: the first list of the page. */
import { groupOf, kindWord, objectKey } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'
import { shellWord } from '../../base/shell-word.ts'
import { workloadKey, workloadKeysOfClaim } from '../../core/data-source-claim/keys.ts'
import { kindKey } from '../../store/any-kind.ts'
import type { ClaimReport, HoldReport, StatusReport, SystemReport, VolumeReport } from '../status/report.ts'

/** An object of a row. Its version is not known if another object names it by its kind alone. */
export interface NamedObject {
  apiVersion?: string
  kind: string
  namespace?: string
  name: string
}

/** What ends a wait: a sentence, and a command if one shows or does it. */
export interface Remedy {
  text: string
  command?: string
}

/** A workload, a pod or a volume that waits. */
export interface WaitingRow {
  /** The object that waits. */
  object: NamedObject
  /** The id of the volume, if the object is a VolumeManager. */
  volume?: string
  /** A hold cause, the reason of a gate, or the reason of a replica. */
  cause: string
  /** Why it waits: the sentence of the annotation, the condition, the Event and `explain`. */
  message: string
  /** When the wait began; absent if it is only predicted, or not known. */
  since?: string
  /** The object to look at next. */
  blocker?: NamedObject
  remedy: Remedy
}

/** Returns what waits in a report with all lists, longest first. Objects without a known begin are last. */
export function waitingRows(report: StatusReport): WaitingRow[] {
  const { claims = [], holds = [], volumes = [], systems = [] } = report
  const claimOf = causesByWorkload(claims)
  const systemNamed = new Map(systems.map((system) => [system.name, system]))
  const rows = [
    ...holds.map((hold) => {
      const claim = claimOf.get(workloadKey(hold.workload))
      return holdRow(hold, claim, claim && systemNamed.get(claim.system))
    }),
    ...volumes.filter(isWaiting).map(volumeRow),
  ]
  return rows.sort(byBegin)
}

/** Returns, by workload, the claim that puts it on hold: the first required one that applies to it, else the first one. */
function causesByWorkload(claims: readonly ClaimReport[]): Map<string, ClaimReport> {
  const causes = new Map<string, ClaimReport>()
  for (const claim of claims.filter(({ location }) => location !== 'Located')) {
    for (const key of workloadKeysOfClaim({ metadata: claim, spec: claim })) {
      const found = causes.get(key)
      if (!found || (mayHold(claim) && !mayHold(found))) causes.set(key, claim)
    }
  }
  return causes
}

function mayHold({ enforcement, location }: ClaimReport): boolean {
  return enforcement === 'Required' && location !== 'NotPermitted'
}

/** A completed volume waits for nothing, and neither does one with all of its replicas. */
function isWaiting({ state, message, readyReplicas, replicas }: VolumeReport): boolean {
  if (state === 'Completed') return false
  return state !== 'Running' || (message !== undefined && readyReplicas < replicas)
}

function holdRow(
  { workload, reason, message, since }: HoldReport,
  claim: ClaimReport | undefined,
  system: SystemReport | undefined,
): WaitingRow {
  const blocker = claim && { kind: 'DataSourceClaim', namespace: claim.namespace, name: claim.name }
  return defined({
    object: workload,
    cause: reason,
    message,
    since,
    blocker,
    remedy: (REMEDIES[reason] ?? explainIt)({ workload, claim, system }),
  })
}

interface Wait {
  workload: NamedObject
  claim?: ClaimReport | undefined
  system?: SystemReport | undefined
}

/** By hold cause, and by the reason of a gate. */
const REMEDIES: Readonly<Record<string, (wait: Wait) => Remedy>> = {
  Unresolved: locateData,
  Unsatisfiable: ({ workload }) => ({
    text: 'copy the data to a cluster that the policy allows, or allow a cluster with the data in the policy',
    command: explainCommand(workload),
  }),
  ClaimMissing: () => ({
    text: 'create a DataSourceClaim for this workload, or remove the annotation from its policy',
    command: 'kubectl explain datasourceclaim.spec',
  }),
}

/** What ends the wait for a location. */
function locateData({ workload, claim, system }: Wait): Remedy {
  if (claim?.location === 'NotPermitted') {
    return {
      text: 'permit the claim, or create it in the namespace of the workload',
      command: commandOf('kubectl describe dsc', [claim.name, '-n', claim.namespace]),
    }
  }
  if (system?.health === 'Unhealthy') {
    return {
      text: `wait until data system ${system.name} answers again, or repair it`,
      command: commandOf('lodestone status --system', [system.name]),
    }
  }
  if (claim && claim.source === undefined) {
    return {
      text: `configure data system ${claim.system}, or create a DataSource for its data`,
      command: 'kubectl get datasources',
    }
  }
  return explainIt({ workload })
}

function explainIt({ workload }: Wait): Remedy {
  return { text: 'the explanation shows what is missing', command: explainCommand(workload) }
}

function volumeRow(volume: VolumeReport): WaitingRow {
  const { namespace, volumeManager: name, volume: id, state, reason, message } = volume
  return {
    object: { kind: 'VolumeManager', namespace, name },
    volume: id,
    cause: reason ?? state,
    message: message ?? `volume ${id} is ${state}`,
    remedy: {
      text: 'the status of the VolumeManager has each replica with its reason',
      command: commandOf('kubectl describe vmgr', [name, '-n', namespace]),
    },
  }
}

function explainCommand(object: NamedObject): string {
  const { namespace, name } = object
  const inNamespace = namespace === undefined ? [] : ['-n', namespace]
  return commandOf('lodestone explain', [`${kindWord(object)}/${name}`, ...inNamespace])
}

/** Returns a command that a reader may paste into a shell. Data systems, and names in a folder, may have any character. */
function commandOf(command: string, words: readonly string[]): string {
  return [command, ...words.map(shellWord)].join(' ')
}

const NEVER = '~'

function byBegin(a: WaitingRow, b: WaitingRow): number {
  return compare(a.since ?? NEVER, b.since ?? NEVER) || compare(waitingId(a), waitingId(b))
}

/** Orders texts by their code units, and numbers by value. */
export function compare(a: string | number, b: string | number): number {
  return a === b ? 0 : a < b ? -1 : 1
}

/** Identifies a row among all that wait. */
export function waitingId({ object, volume }: WaitingRow): string {
  return volume === undefined ? referenceId(object) : `${referenceId(object)} ${volume}`
}

/** Identifies an object in any version of its kind. */
export function referenceId({ apiVersion = '', kind, namespace, name }: NamedObject): string {
  return `${kindKey({ group: groupOf(apiVersion), kind })} ${objectKey(namespace, name)}`
}
