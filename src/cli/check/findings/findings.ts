/** The table of findings: the stable identifier of each, its severity and its meaning. */
import { defined } from '../../../base/json.ts'
import { printable } from '../../../base/printable.ts'
import type { Position } from '../../../store/folder/positions.ts'

/** An error fails without options. A warning fails only with `--fail-on`, and `info` never does. */
export type Severity = 'error' | 'warning' | 'info'

/** The values of `--fail-on`, from the fewest findings that fail to the most. `ineffective` is the default. */
export const FAIL_ON = ['rejected', 'ineffective', 'held', 'warning'] as const

export type FailOn = (typeof FAIL_ON)[number]

interface FindingRule {
  severity: Severity
  /** The first value of `--fail-on` for which the finding fails; absent if it never does. */
  failsOn?: FailOn
  title: string
}

/**
 * Each identifier is API: it is never renamed or given another meaning. docs/guides/check.md has a section for each.
 *
 * The API server or admission rejects the object (`rejected`), or the object would not do what it says (`ineffective`): both are errors.
 * A warning may be intended, or depends on objects that are elsewhere.
 */
export const FINDINGS = {
  'invalid-manifest': { severity: 'error', failsOn: 'rejected', title: 'A file or a manifest cannot be read' },
  'invalid-system': { severity: 'error', failsOn: 'rejected', title: 'A file of a data system is invalid' },
  'no-manifest': { severity: 'error', failsOn: 'rejected', title: 'The input has no manifest' },
  'denied-object': { severity: 'error', failsOn: 'rejected', title: 'Admission rejects the object' },
  'undecided-object': { severity: 'error', failsOn: 'rejected', title: 'The decision is not known' },
  'endless-hold': { severity: 'error', failsOn: 'ineffective', title: 'The workload would wait forever' },
  // Its pods are rejected, although the workload is allowed.
  'missing-volume-manager': { severity: 'error', failsOn: 'ineffective', title: 'A VolumeManager does not exist' },
  'unusable-volume': { severity: 'error', failsOn: 'ineffective', title: 'A volume cannot be used' },
  'dangling-claim': { severity: 'error', failsOn: 'ineffective', title: 'The workload of a claim does not exist' },
  'dangling-policy': { severity: 'error', failsOn: 'ineffective', title: 'The object of a policy does not exist' },
  'ineffective-claim': { severity: 'error', failsOn: 'ineffective', title: 'A claim has no effect' },
  'ineffective-annotation': { severity: 'error', failsOn: 'ineffective', title: 'An annotation has no effect' },
  'unknown-kind': { severity: 'error', failsOn: 'ineffective', title: 'An annotation has no effect on this kind' },
  'excluded-namespace': {
    severity: 'error',
    failsOn: 'ineffective',
    title: 'Admission is not called for the namespace',
  },
  // Decisions would silently be those without the objects of the hub.
  'empty-folder': { severity: 'error', failsOn: 'ineffective', title: 'The folder has no manifest' },
  // The claim may allow it, and a timeout, a data system or Karmada ends it.
  hold: { severity: 'warning', failsOn: 'held', title: 'The workload would wait for its data' },
  // A workload of a member cluster needs no policy.
  'no-policy': { severity: 'warning', failsOn: 'warning', title: 'No known policy selects the workload' },
  // The claim itself allows it, for instance with `onUnresolved: Ignore`.
  'ignored-claim': { severity: 'warning', failsOn: 'warning', title: 'The workload is placed without its data' },
  // The claim does what it says, at a time that may be wrong.
  'first-narrowing': {
    severity: 'warning',
    failsOn: 'warning',
    title: 'A claim moves a workload that rebalance keeps',
  },
  // kubectl has a namespace of its own, so the objects may be right.
  'no-namespace': { severity: 'warning', failsOn: 'warning', title: 'A manifest has no namespace' },
  'admission-warning': { severity: 'warning', failsOn: 'warning', title: 'Admission warns about the object' },
  // The data system may answer later. The workload has a finding of its own.
  'unanswered-query': { severity: 'warning', failsOn: 'warning', title: 'A data system does not answer' },
  // The file means what it means for volcano-global.
  'system-warning': { severity: 'warning', failsOn: 'warning', title: 'A field of a data system is ignored' },
  'valid-system': { severity: 'info', title: 'A file of a data system is valid' },
  'no-claim': { severity: 'info', title: 'No claim names the workload' },
  // Most repositories have ConfigMaps and Services, about which Lodestone decides nothing.
  'not-checked': { severity: 'info', title: 'No rule applies to the object' },
  'kept-narrowing': { severity: 'info', title: 'The last narrowing stays' },
} as const satisfies Record<string, FindingRule>

export type FindingId = keyof typeof FINDINGS

/** The place of a finding. `file` is absent if it is in no file. */
export interface Place extends Partial<Position> {
  file?: string
}

export interface Finding extends Place {
  id: FindingId
  severity: Severity
  /** The problem, then the remedy. */
  message: string
  /** `Kind namespace/name`; absent for a finding about a file. */
  object?: string
}

/** Builds a finding with the severity of its identifier. Names of manifests cannot steer a terminal or a CI system. */
export function finding(id: FindingId, message: string, place: Place, object?: string): Finding {
  const { file, line, column } = place
  return defined({ id, severity: FINDINGS[id].severity, message: printable(message), object, file, line, column })
}

/** Whether a finding makes the command fail. */
export function fails({ id }: Finding, failOn: FailOn): boolean {
  const { failsOn }: FindingRule = FINDINGS[id]
  return failsOn !== undefined && FAIL_ON.indexOf(failsOn) <= FAIL_ON.indexOf(failOn)
}

/** The section of a finding in the documentation. */
export function documentationOf(id: FindingId): string {
  return `docs/guides/check.md#${id}`
}
