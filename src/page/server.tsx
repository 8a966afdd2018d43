/** The installation: leader, replicas, registration, certificates, versions, and the watches of this page. */

import { formatAge } from '../base/time/duration.ts'
import type { FoundServer } from '../cli/ui/server-report.ts'
import { fetchServer } from './api.ts'
import { Age, Problem, Reading, State, Table, type Tone } from './parts.tsx'
import { useLoaded } from './use-list.ts'
import type { ViewInput } from './view-input.ts'

/** The server reads again after this time at the earliest. */
const POLL_MS = 10_000
/** Certificates and tokens that end sooner are worth a look. */
const SOON_MS = 7 * 86_400_000

const RESULTS: Readonly<Record<FoundServer['findings'][number]['result'], { tone: Tone; words: string }>> = {
  passed: { tone: 'fine', words: 'passed' },
  warning: { tone: 'waiting', words: 'warning' },
  failed: { tone: 'failed', words: 'failed' },
  skipped: { tone: 'none', words: 'skipped' },
}

export function Server({ now }: ViewInput) {
  const { data, problem } = useLoaded('server', Math.floor(now / POLL_MS), fetchServer)
  return (
    <>
      <Problem what="This report" isOld={data !== undefined} problem={problem} />
      {!data && problem === undefined && <Reading />}
      {data?.absent !== undefined && (
        <div class="empty">
          <p class="large">A folder has no server.</p>
          <p>
            {data.absent}. This page is of Lodestone {data.versions.lodestone}.
          </p>
        </div>
      )}
      {data && data.absent === undefined && <Report report={data} now={now} />}
    </>
  )
}

function Report({ report, now }: { report: FoundServer; now: number }) {
  const { findings, replicas, registrations, certificates, watches } = report
  return (
    <>
      <Facts report={report} now={now} />
      <h2>Checks</h2>
      <ul class="findings">
        {findings.map(({ name, result, message, remedy }) => (
          <li key={name} tabIndex={-1} data-row>
            <State tone={RESULTS[result].tone}>{name}</State>
            <span class="hidden">{RESULTS[result].words}</span>
            <p>
              {message}
              {remedy !== undefined && <span class="remedy">{remedy}</span>}
            </p>
          </li>
        ))}
      </ul>
      <p class="quiet">
        <code>lodestone check-install</code> also sends dry runs, and checks the rights of Lodestone.
      </p>
      {replicas.length > 0 && (
        <>
          <h2>Replicas</h2>
          <Table label="Replicas" titles={['Host', 'Version', 'Configuration', 'Announced']}>
            {replicas.map(({ host, version, registration, time }) => (
              <tr key={`${host} ${registration} ${time}`}>
                <th scope="row">{host}</th>
                <td>{version}</td>
                <td>
                  <Digest text={registration} />
                </td>
                <td>
                  <Age since={time} now={now} />
                </td>
              </tr>
            ))}
          </Table>
        </>
      )}
      {registrations.length > 0 && (
        <>
          <h2>Registration</h2>
          <Table
            label="Registration"
            titles={['Object', 'Version', 'Configuration', 'Webhooks', 'Failure policy', 'Written by']}
          >
            {registrations.map(({ kind, name, version, digest, webhooks, failurePolicies, writer }) => (
              <tr key={`${kind} ${name}`}>
                <th scope="row">
                  {name} <span class="quiet">{kind}</span>
                </th>
                <td>{version ?? <span class="quiet">not known</span>}</td>
                <td>{digest === undefined ? <span class="quiet">not known</span> : <Digest text={digest} />}</td>
                <td class="number">{webhooks > 0 ? webhooks : ''}</td>
                <td>{describePolicies(failurePolicies)}</td>
                <td>
                  {writer?.manager}
                  {writer?.time !== undefined && (
                    <span class="quiet">
                      , <Age since={writer.time} now={now} /> ago
                    </span>
                  )}
                </td>
              </tr>
            ))}
          </Table>
        </>
      )}
      {certificates.length > 0 && (
        <>
          <h2>Certificates and credentials</h2>
          <Table label="Certificates and credentials" titles={['Use', 'Subject', 'Ends']}>
            {certificates.map(({ use, subject, end }) => (
              <tr key={`${use} ${subject} ${end}`}>
                <th scope="row">{use}</th>
                <td>{subject}</td>
                <td>
                  <End end={end} now={now} />
                </td>
              </tr>
            ))}
          </Table>
        </>
      )}
      <h2>Watches of this page</h2>
      <Table label="Watches of this page" titles={['Kind', 'Last answer', 'Problem']}>
        {watches.map(({ kind, ageSeconds, problem }) => (
          <tr key={kind}>
            <th scope="row">{kind}</th>
            <td class="number">
              {ageSeconds === undefined ? <span class="quiet">none yet</span> : `${formatAge(ageSeconds * 1000)} ago`}
            </td>
            <td>{problem}</td>
          </tr>
        ))}
      </Table>
    </>
  )
}

/** What a reader looks for first, as terms and values. */
function Facts({ report, now }: { report: FoundServer; now: number }) {
  const { leader, replicas, versions, readTime } = report
  return (
    <dl class="facts">
      <div>
        <dt>Leader</dt>
        <dd>
          {leader ? (
            <>
              <State tone={leader.isOld ? 'failed' : 'fine'}>
                <span title={leader.holder}>{holderHost(leader.holder)}</span>
              </State>
              <span class="quiet">
                renewed <Age since={leader.renewTime} now={now} /> ago, leads for <Age since={leader.since} now={now} />
                , {leader.transitions ?? 0} changes before
              </span>
            </>
          ) : (
            <span class="quiet">not known</span>
          )}
        </dd>
      </div>
      <div>
        <dt>Replicas</dt>
        <dd>
          {replicas.length}
          <span class="quiet">{[...new Set(replicas.map(({ version }) => version))].join(', ')}</span>
        </dd>
      </div>
      <div>
        <dt>Versions</dt>
        <dd>
          Lodestone {versions.lodestone}
          <span class="quiet">
            of this page{versions.kubernetes !== undefined && `, Kubernetes ${versions.kubernetes}`}
          </span>
        </dd>
      </div>
      <div>
        <dt>Read</dt>
        <dd>
          <Age since={readTime} now={now} /> ago
          <span class="quiet">again every {POLL_MS / 1000} s</span>
        </dd>
      </div>
    </dl>
  )
}

/** The identity of a holder is its host name and a UUID, as in client-go. */
function holderHost(holder: string): string {
  return holder.replace(/_[0-9a-f-]{36}$/, '') || 'none'
}

const SHOWN = 10

function Digest({ text }: { text: string }) {
  return <code title={text}>{text.slice(0, SHOWN)}</code>
}

/** `5 Ignore, 4 Fail`. */
function describePolicies(policies: Readonly<Record<string, number>>): string {
  return Object.entries(policies)
    .map(([policy, count]) => `${count} ${policy}`)
    .join(', ')
}

function End({ end, now }: { end: string; now: number }) {
  const left = Date.parse(end) - now
  const words = left < 0 ? `${formatAge(-left)} ago` : `in ${formatAge(left)}`
  return (
    <State tone={left < 0 ? 'failed' : left < SOON_MS ? 'waiting' : 'fine'}>
      <time dateTime={end} title={end}>
        {words}
      </time>
    </State>
  )
}
