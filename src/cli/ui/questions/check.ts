/** Answers `POST /v1/check`: the findings of `lodestone check` for given manifests, and what admission would change. It writes nothing. */
import type { K8sObject, ResourceType } from '../../../api/meta.ts'
import { namespaces } from '../../../api/namespace.ts'
import { volumeManagers } from '../../../api/volume-manager.ts'
import { defined } from '../../../base/json.ts'
import { compileSchema } from '../../../base/schema/schema-errors.ts'
import type { FolderStore } from '../../../store/folder/folder.ts'
import { type CheckInput, checkManifests } from '../../check/check-manifests.ts'
import { documentationOf, type Finding } from '../../check/findings/findings.ts'
import { readHub } from '../../check/hub/read-hub.ts'
import { copiesOf, withoutVersion } from '../../check/input/place-manifests.ts'
import type { ManifestText } from '../../check/input/read-manifests.ts'
import { objectRow } from '../../check/render/json.ts'
import { renderDiff } from '../../check/render/text.ts'
import { countObjects, type HubSummary, type Report } from '../../check/report.ts'
import { openSession } from '../../check/review/review-object.ts'
import type { Paint } from '../../command.ts'
import type { Context } from '../../explain/target.ts'
import { typeOfObject } from '../../kinds.ts'
import { openFolder } from '../../open-folder.ts'
import type { BodyProblem } from '../replies.ts'
import { type Asker, answerBodies } from './one-at-a-time.ts'
import { FILES, readFiles, TEXT } from './question-files.ts'

interface CheckQuestion {
  files: ManifestText[]
  /** The namespace of manifests without one. */
  namespace?: string
}

/** The answer, or what is wrong with the body. */
export type CheckResult = { answer: CheckAnswer; problems?: never } | { problems: BodyProblem[]; answer?: never }

export interface CheckAnswer {
  findings: CheckFinding[]
  objects: CheckedObject[]
  /** The number of given objects to which a rule applies, and of the others. */
  checked: number
  notChecked: number
  /** What happens to the workloads of the hub; absent without a hub. */
  hub?: HubSummary
}

type CheckFinding = Finding & { documentation: string }

type CheckedObject = Omit<ReturnType<typeof objectRow>, 'patch'> & {
  /** What admission would change, as a diff of YAML: lines that begin with `+ `, `- ` or two spaces. Empty without a change. */
  diff: string
}

export interface FleetInput {
  /** The inputs of decisions at this moment. */
  context: () => Context
  /** The store, if it is that of a folder. */
  folder: FolderStore | undefined
  signal: AbortSignal
}

/** Workloads of a hub that the manifests concern: each is read by its name. */
const MAX_WORKLOADS = 200
const MAX_DIFF_LINES = 400
const COMMAND = 'lodestone check'

const validate = compileSchema(
  { type: 'object', required: ['files'], properties: { namespace: TEXT, files: FILES } },
  'forbidden',
)

/**
 * Returns a function that answers a body, or says what is wrong with it. One question is answered at a time. The function throws if too many
 * wait, and if the API server does not let the user read what a decision needs.
 */
export function openCheck(input: FleetInput): (body: unknown, asker: Asker) => Promise<CheckResult> {
  const questions = { what: 'check', command: COMMAND, ended: input.signal } as const
  return answerBodies(validate, questions, (question: CheckQuestion, signal) => answerQuestion(question, input, signal))
}

async function answerQuestion(
  { files, namespace }: CheckQuestion,
  { context: present, folder }: FleetInput,
  signal: AbortSignal,
): Promise<CheckResult> {
  const { given, problems } = readFiles(files, COMMAND)
  if (problems) return { problems }
  const context = present()
  const { config, karmadaRules, kinds, store: fleet, isHub, now } = context
  const copyHub: NonNullable<CheckInput['copyHub']> = (placed, reviewContext) =>
    readHub(placed, {
      hub: fleet,
      session: openSession(reviewContext),
      systems: config.systems,
      maxWorkloads: MAX_WORKLOADS,
      signal,
    })
  const store = openFolder(undefined, { workloads: kinds })
  await store.start(signal)
  try {
    await copyObjects(folder ? copiesOf(folder) : memberObjects(context), store)
    const report = await checkManifests({
      given,
      store,
      folder: undefined,
      config,
      karmadaRules,
      namespace,
      now,
      signal,
      from: files.map(({ file }) => file).join(', '),
      queriesSystems: false,
      failOn: 'ineffective',
      ...(!folder && isHub && { copyHub }),
    })
    return { answer: buildCheckAnswer(report) }
  } finally {
    await store.stop()
  }
}

/** The objects that decisions on pods read in a cluster that is not a hub. */
function memberObjects({ store, isMember }: Context): K8sObject[] {
  const types: ResourceType[] = [namespaces, volumeManagers]
  return isMember ? types.flatMap((type) => [...store.list(type)].map(withoutVersion)) : []
}

async function copyObjects(objects: readonly K8sObject[], store: FolderStore): Promise<void> {
  const types = store.kinds()
  for (const object of objects) await store.create(typeOfObject(types, object), object)
}

function buildCheckAnswer(report: Report): CheckAnswer {
  return defined({
    findings: report.findings.map((each) => ({ ...each, documentation: documentationOf(each.id) })),
    objects: report.reviews.map((review) => {
      const { patch: _, ...row } = objectRow(review)
      return { ...row, diff: cutLines(renderDiff(review, plain)) }
    }),
    ...countObjects(report),
    hub: report.hub,
  })
}

const plain: Paint = (_format, text) => text

function cutLines(text: string): string {
  const lines = text.split('\n')
  const more = lines.length - MAX_DIFF_LINES
  return more <= 0 ? text : [...lines.slice(0, MAX_DIFF_LINES), `  … ${more} more lines`].join('\n')
}
