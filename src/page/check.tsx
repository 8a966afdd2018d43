/** Checks manifests against the fleet: findings with their places, what admission would change, and what would move or wait. */
import { useState } from 'preact/hooks'
import { formatCount } from '../base/quantity.ts'
import type { CheckAnswer } from '../cli/ui/questions/check.ts'
import { fetchCheck } from './api.ts'
import { addFiles, type ManifestFile } from './manifest-files.ts'
import { Problem, State, Table, type Tone } from './parts.tsx'
import { ServerQuestion, useQuestion } from './server-question.ts'
import type { ViewInput } from './view-input.ts'

type Checked = CheckAnswer['objects'][number]

const PASTED = 'pasted.yaml'

/** What was pasted and answered stays while the reader looks at another view. */
const kept: { text: string; files: ManifestFile[] } = { text: '', files: [] }
const question = new ServerQuestion<CheckAnswer, string>()

export function Check({ query }: ViewInput) {
  const [text, setText] = useState(kept.text)
  const [files, setFiles] = useState(kept.files)
  const { isAsking: isChecking, answer, problem } = useQuestion(question)
  Object.assign(kept, { text, files })
  const isEmpty = text.trim() === '' && files.length === 0

  const add = async (list: FileList | undefined | null) => {
    const added = await addFiles(kept.files, [...(list ?? [])])
    if (typeof added === 'string') question.setProblem(added)
    else setFiles(added)
  }
  const check = () => {
    const pasted = text.trim() === '' ? [] : [{ file: PASTED, text }]
    const asked = { files: [...pasted, ...files], namespace: query['namespace'] }
    return question.ask(
      (signal) => fetchCheck(asked, signal),
      ({ message }) => message,
    )
  }
  return (
    <>
      <form
        class="check"
        onSubmit={(event) => {
          event.preventDefault()
          void check()
        }}
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => {
          event.preventDefault()
          void add(event.dataTransfer?.files)
        }}
      >
        <label for="manifests">Paste manifests, or drop files here. Nothing is written.</label>
        <textarea
          id="manifests"
          rows={10}
          spellcheck={false}
          placeholder={EXAMPLE}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        {files.length > 0 && (
          <ul class="files">
            {files.map(({ file }) => (
              <li key={file}>
                {file}{' '}
                <button
                  type="button"
                  aria-label={`Remove ${file}`}
                  onClick={() => setFiles(files.filter((each) => each.file !== file))}
                >
                  Remove
                </button>
              </li>
            ))}
          </ul>
        )}
        <p class="actions">
          <button type="submit" disabled={isEmpty || isChecking}>
            {isChecking ? 'Checking…' : 'Check'}
          </button>
          <label class="file">
            Add files{' '}
            <input
              type="file"
              multiple
              accept=".yaml,.yml,.json"
              onChange={({ currentTarget }) => {
                void add(currentTarget.files)
                // Otherwise the browser would not tell that the same file is chosen again, after a change.
                currentTarget.value = ''
              }}
            />
          </label>
          {answer && (
            <button type="button" onClick={() => question.clearAnswer()}>
              Clear the result
            </button>
          )}
        </p>
      </form>
      <Problem what="The result below" isOld={answer !== undefined} problem={problem} />
      {answer && <Result answer={answer} />}
    </>
  )
}

const EXAMPLE = `apiVersion: datadependency.volcano.sh/v1alpha1
kind: DataSourceClaim
metadata:
  name: orders
  namespace: demo
spec:
  …`

const SEVERITIES: Readonly<Record<CheckAnswer['findings'][number]['severity'], Tone>> = {
  error: 'failed',
  warning: 'waiting',
  info: 'none',
}

function Result({ answer: { findings, objects, checked, notChecked, hub } }: { answer: CheckAnswer }) {
  const shown = objects.filter(({ outcome, diff, decision }) => outcome !== 'allowed' || diff !== '' || decision)
  return (
    <section aria-label="Result" aria-live="polite">
      <p class="large">{summary(findings)}</p>
      <p class="quiet">
        {formatCount(checked, 'object')} checked, {notChecked} without a rule
        {hub &&
          `; ${hub.moves} would move, ${hub.waits} would wait, ${hub.placed} would be placed, ${hub.unchanged} unchanged`}
        {hub && hub.notReviewed > 0 && `, ${hub.notReviewed} more were not looked at`}
      </p>
      {findings.length > 0 && (
        <Table label="Findings" titles={['Finding', 'Place', 'Object', 'Message']}>
          {findings.map(({ id, severity, file, line, column, object, message }, i) => (
            <tr key={`${id} ${file} ${line} ${i}`} tabIndex={-1} data-row>
              <td>
                <State tone={SEVERITIES[severity]}>{severity}</State> <span class="quiet">{id}</span>
              </td>
              <td>{[file, line, column].filter((part) => part !== undefined).join(':')}</td>
              <td>{object}</td>
              <td>{message}</td>
            </tr>
          ))}
        </Table>
      )}
      {shown.map((object, i) => (
        <Change key={`${object.object} ${i}`} object={object} />
      ))}
    </section>
  )
}

function summary(findings: CheckAnswer['findings']): string {
  const count = (severity: string) => findings.filter((each) => each.severity === severity).length
  const [errors, warnings] = [count('error'), count('warning')]
  if (errors + warnings === 0) return 'Nothing is wrong with these manifests.'
  return `${formatCount(errors, 'error')}, ${formatCount(warnings, 'warning')}`
}

const OUTCOMES: Readonly<Record<Checked['outcome'], { tone: Tone; words: string }>> = {
  allowed: { tone: 'fine', words: 'allowed' },
  patched: { tone: 'fine', words: 'changed by admission' },
  denied: { tone: 'failed', words: 'rejected' },
  unknown: { tone: 'unknown', words: 'not decided' },
}

function Change({ object: { object, derivedFrom, outcome, decision, effect, reason, diff } }: { object: Checked }) {
  const { tone, words } = OUTCOMES[outcome]
  return (
    <section class="change">
      <h2>
        {derivedFrom === undefined ? object : `${derivedFrom} → ${object}`}{' '}
        <State tone={effect === 'waits' ? 'waiting' : tone}>
          {[decision ?? words, ...(effect === undefined ? [] : [EFFECTS[effect]])].join(', ')}
        </State>
      </h2>
      {reason !== undefined && <p>{reason}</p>}
      {diff !== '' && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a user without a mouse scrolls it by its focus
        <pre tabIndex={0}>
          {diff.split('\n').map((line, i) => (
            <span key={i} class={CLASSES[line.slice(0, 2)]}>{`${line}\n`}</span>
          ))}
        </pre>
      )}
    </section>
  )
}

const EFFECTS: Readonly<Record<NonNullable<Checked['effect']>, string>> = {
  moves: 'would move',
  waits: 'would wait',
  placed: 'would be placed',
  unchanged: 'unchanged',
}

const CLASSES: Readonly<Record<string, string>> = { '+ ': 'added', '- ': 'removed' }
