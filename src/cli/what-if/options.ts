/** The options of `lodestone what-if`: one or more suppositions, and how the answer is shown. */
import { suggest } from '../../base/suggest.ts'
import { EFFECT_NAMES, type Effect } from '../../core/what-if/effect.ts'
import { type NamedSupposition, readSupposition, type SuppositionOption } from '../../core/what-if/supposition.ts'
import type { Answer } from '../../queries/what-if/ask.ts'
import type { GivenManifests } from '../check/input/read-manifests.ts'
import { type Arguments, type Option, UsageError } from '../command.ts'
import { SOURCE_OPTIONS } from '../open-source.ts'
import { KARMADA_VERSION_OPTION } from '../options/karmada-version.ts'
import { namespaceOption } from '../options/namespace.ts'
import { PLAIN_FORMATS, PLAIN_OUTPUT_OPTION, readFormat } from '../output.ts'

const FAIL_IF_FORM = "EFFECT OPERATOR NUMBER, e.g. 'stranded > 0'"

export const WHAT_IF_OPTIONS = {
  'cluster-lost': {
    type: 'string',
    multiple: true,
    value: 'CLUSTER',
    description: 'Suppose that a cluster does not respond any more, and that failover is on',
  },
  taint: {
    type: 'string',
    multiple: true,
    value: 'CLUSTER=KEY[=VALUE]:EFFECT',
    description: 'Suppose that a cluster has a taint; CLUSTER=KEY- removes the taints with the key',
  },
  data: {
    type: 'string',
    multiple: true,
    value: 'SOURCE=CLUSTER[,CLUSTER…]',
    description: 'Suppose that the data of a DataSource is in these clusters',
  },
  'source-stale': {
    type: 'string',
    multiple: true,
    value: 'SOURCE',
    description: 'Suppose that the location of a DataSource is older than every claim allows',
  },
  manifest: {
    type: 'string',
    short: 'f',
    multiple: true,
    value: 'FILE',
    description: 'Suppose that these manifests are applied: a file, a folder, or - for standard input',
  },
  policy: {
    type: 'string',
    multiple: true,
    value: 'FILE',
    description: 'As --manifest, for manifests of policies only',
  },
  delete: {
    type: 'string',
    multiple: true,
    value: 'KIND/NAME',
    description: 'Suppose that an object is deleted',
  },
  'each-cluster-lost': {
    type: 'boolean',
    description: 'A table: for each cluster, what its loss does, the worst first',
  },
  'each-source-stale': {
    type: 'boolean',
    description: 'A table: for each DataSource, what an outdated location does, the worst first',
  },
  'fail-if': {
    type: 'string',
    multiple: true,
    value: 'CONDITION',
    description: `Exit with status 1 if a condition is true: ${FAIL_IF_FORM}`,
  },
  all: { type: 'boolean', description: 'Show every workload, supposition and note, and not only the first ones' },
  ...namespaceOption('The namespace of --delete, and of manifests without one (default: that of the context)'),
  ...PLAIN_OUTPUT_OPTION,
  ...SOURCE_OPTIONS,
  snapshot: {
    type: 'string',
    multiple: true,
    value: 'FILE',
    description: 'Read a snapshot of a hub instead; several snapshots are several hubs',
  },
  ...KARMADA_VERSION_OPTION,
} as const satisfies Record<string, Option>

/** A change of the fleet that is supposed. */
export type Supposition = NamedSupposition | AppliedManifests

/** Manifests that are applied. */
export interface AppliedManifests {
  kind: 'applied'
  given: GivenManifests
  /** The files, for messages. */
  from: string
  onlyPolicies: boolean
}

/** Files of manifests that are applied, which are not read yet. */
export interface AppliedFiles extends Pick<AppliedManifests, 'onlyPolicies'> {
  kind: 'files'
  files: readonly string[]
}

/** A supposition as the options have it. */
export type GivenSupposition = NamedSupposition | AppliedFiles

/** The question: suppositions that hold together, or a table of single ones. */
export type GivenQuestion = { suppositions: readonly GivenSupposition[]; each?: never } | { each: 'cluster' | 'source' }

export interface WhatIfOptions {
  question: GivenQuestion
  conditions: readonly Condition[]
  showsAll: boolean
  format: (typeof PLAIN_FORMATS)[number]
}

/** Throws `UsageError` for an invalid value, for a question without a supposition, and for two questions at once. */
export function readOptions(args: Arguments): WhatIfOptions {
  return {
    question: readQuestion(args),
    conditions: args.texts('fail-if').map(readCondition),
    showsAll: args.flag('all'),
    format: readFormat(args, PLAIN_FORMATS),
  }
}

function readQuestion(args: Arguments): GivenQuestion {
  const suppositions = readSuppositions(args)
  const tables = (['cluster', 'source'] as const).filter((each) =>
    args.flag(each === 'cluster' ? 'each-cluster-lost' : 'each-source-stale'),
  )
  const [each, second] = tables
  if (second || (each && suppositions.length > 0))
    throw new UsageError('--each-cluster-lost and --each-source-stale are questions of their own; ask one at a time')
  if (each) return { each }
  if (suppositions.length === 0)
    throw new UsageError(
      "nothing is supposed; give at least one of --cluster-lost, --taint, --data, --source-stale, --manifest, --policy, --delete, or a table: --each-cluster-lost, --each-source-stale\nSee 'lodestone what-if --help'.",
    )
  return { suppositions }
}

function readSuppositions(args: Arguments): GivenSupposition[] {
  const [manifests, policies] = [args.texts('manifest'), args.texts('policy')]
  if (manifests.includes('-') && policies.includes('-'))
    throw new UsageError(
      '--manifest - and --policy -: standard input is read once; give its policies to --manifest too',
    )
  return [
    // The policies first: they may select the workloads of the manifests.
    ...(policies.length > 0 ? [{ kind: 'files', files: policies, onlyPolicies: true } as const] : []),
    ...(manifests.length > 0 ? [{ kind: 'files', files: manifests, onlyPolicies: false } as const] : []),
    ...NAMED.flatMap((option) => args.texts(option).map((text) => readNamed(option, text))),
  ]
}

/** The options of suppositions that name objects, in the order in which they are applied. */
const NAMED = ['data', 'source-stale', 'taint', 'cluster-lost', 'delete'] as const satisfies SuppositionOption[]

const FORMS: Readonly<Partial<Record<SuppositionOption, string>>> = {
  data: 'SOURCE=CLUSTER[,CLUSTER…], e.g. sales=member3',
  taint:
    'CLUSTER=KEY[=VALUE]:EFFECT with the effect NoSchedule, PreferNoSchedule or NoExecute, e.g. member2=maintenance:NoExecute',
}

function readNamed(option: SuppositionOption, text: string): NamedSupposition {
  const supposition = readSupposition({ option, text })
  if (!supposition) throw new UsageError(`--${option} ${text}: expected ${FORMS[option]}`)
  return supposition
}

interface Condition {
  /** As the user wrote it. */
  text: string
  /** Whether it is true for the totals of an answer. */
  holds(totals: Answer['totals']): boolean
}

const OPERATORS: Readonly<Record<string, (count: number, limit: number) => boolean>> = {
  '>': (count, limit) => count > limit,
  '>=': (count, limit) => count >= limit,
  '<': (count, limit) => count < limit,
  '<=': (count, limit) => count <= limit,
  '==': (count, limit) => count === limit,
  '!=': (count, limit) => count !== limit,
}

/** Throws `UsageError` for a text of another form, and for an unknown effect. */
function readCondition(text: string): Condition {
  const [, name = '', operator = '', limit = ''] =
    /^\s*([A-Za-z]+)\s*(>=|<=|==|!=|>|<)\s*(\d{1,9})\s*$/.exec(text) ?? []
  const compare = OPERATORS[operator]
  if (!compare) throw new UsageError(`--fail-if '${text}': expected ${FAIL_IF_FORM}`)
  const effect = EFFECT_NAMES.find((known) => known === name)
  if (!effect) {
    const known = EFFECT_NAMES.join(', ')
    throw new UsageError(`--fail-if '${text}': unknown effect ${name}${suggest(name, EFFECT_NAMES)}; known: ${known}`)
  }
  return {
    text: text.trim(),
    holds: (totals: Record<Effect, { workloads: number }>) => compare(totals[effect].workloads, Number(limit)),
  }
}
