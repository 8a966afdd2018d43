/** The page docs/reference/events.md: Events, conditions and audit annotations. */
import { MOVER_REASONS } from '../../core/mover-contract/contract.ts'
import { AUDIT_ANNOTATIONS, CONDITIONS, DECISIONS, EVENTS } from '../../core/signal-tables.ts'
import { codes, GENERATED, markdownTable } from './markdown.ts'

/** Returns the text of docs/reference/events.md. */
export function eventsPage(): string {
  return `# Events, conditions and audit annotations

${GENERATED}

This page lists what Lodestone says to users and tools. Reasons are [API](versioning.md), messages are not.

\`\`\`sh
kubectl get events -A --field-selector reason=LocalityHold
\`\`\`

## Events

The source component is \`lodestone\`. An Event about a cluster-scoped object is in the namespace \`default\`.

An Event about a decision has its id at the end of the message, and in the label \`lodestone.dev/decision-id\`. These are the Events
\`Locality…\`, \`Workload…\` and \`Volumes…\`. [Follow one decision](../guides/troubleshooting.md#follow-one-decision) joins them with the audit log, log
lines and \`lodestone explain\`.

${markdownTable(
  ['Reason', 'Type', 'About', 'When'],
  Object.entries(EVENTS).map(([reason, { type, about, when }]) => [`\`${reason}\``, type, about, when]),
)}

Movers create Events about their Pod ([Results](../guides/movers.md#results)):

${codes(Object.values(MOVER_REASONS))}

## Conditions

Reasons of movers and of replicas are in [volumes.md](../concepts/volumes.md).

${markdownTable(
  ['Kind', 'Type', 'True when'],
  CONDITIONS.map(({ about, type, when }) => [about, `\`${type}\``, when]),
)}

${markdownTable(
  ['Kind', 'Type', 'Reasons'],
  CONDITIONS.map(({ about, type, reasons }) => [about, `\`${type}\``, reasons.join(', ')]),
)}

## Audit annotations

kube-apiserver writes them into its audit log, with the name of the webhook before the key.

${markdownTable(
  ['Key', 'Value'],
  Object.entries(AUDIT_ANNOTATIONS).map(([key, value]) => [`\`${key}\``, value]),
)}

${markdownTable(
  ['`decision`', 'Webhook', 'When'],
  Object.entries(DECISIONS).map(([decision, { webhook, when }]) => [`\`${decision}\``, webhook, when]),
)}
`
}
