/** Tests which messages of a catalog say that a table does not exist. */
import { expect, test } from 'vitest'
import { absentKind, mayHide, namesPath, saysAbsent, saysExternalCatalog } from './absence-message.ts'

const named = { namespace: 'sales', table: 'orders' }

test.each([
  { message: 'Table orders not found in schema sales', want: true },
  { message: 'Table does not exist: sales.orders', want: true },
  { message: "The table 'SALES.ORDERS' was not found", want: true },
  { message: 'No such namespace "sales"', want: true },
  { message: 'Unknown database sales', want: true },
  { message: 'Table orders_2024 not found', want: false },
  { message: 'Table my-orders not found', want: false },
  { message: 'Table not found', want: false },
  { message: 'Not Found', want: false },
  { message: 'Table orders is locked', want: false },
  { message: 'Warehouse orders not found', want: false },
  { message: 'Catalog sales not found', want: false },
  { message: 'Cannot GET /v1/wh/namespaces/sales/tables/orders: not found', want: false },
  { message: 'No such path: /namespaces/sales/table/orders', want: false },
  { message: 'Could not find the resource of table orders', want: false },
  { message: 'Metadata file of table orders not found', want: false },
  { message: '', want: false },
])('"$message" says that the table or its namespace does not exist: $want', ({ message, want }) => {
  expect(saysAbsent(message, named)).toBe(want)
})

test.each([
  { message: "Table 'ORDERS' does not exist or not authorized.", want: true },
  { message: 'Table orders not found or action can_get_metadata forbidden for oidc~1', want: true },
  { message: 'No such table orders, or insufficient privileges to operate on it', want: true },
  { message: 'Table orders not found, or you lack the SELECT permission', want: true },
  { message: 'Table does not exist or access denied', want: true },
  { message: 'Table does not exist: hr.permissions', want: false },
  { message: 'Table does not exist: iam.access_forbidden', want: false },
  { message: 'Table orders not found in schema sales or its parent', want: false },
])('"$message" may hide the table from this user: $want', ({ message, want }) => {
  expect(mayHide(message)).toBe(want)
})

test('an empty name is in no message', () => {
  expect(saysAbsent('Table not found', { namespace: '', table: '' })).toBe(false)
})

test.each([
  { message: 'Catalog eu does not exist', want: 'catalog' },
  { message: 'the TABLE of a file', want: 'table' },
  { message: 'tables', want: undefined },
])('"$message" is about a $want', ({ message, want }) => {
  expect(absentKind(message)).toBe(want)
})

test.each([
  { message: 'File does not exist: /a/b+c', path: '/a/b+c', want: true },
  { message: 'File does not exist: /a/b c', path: '/a/b+c', want: false },
  { message: 'File does not exist: /100%/x', path: '/100%25/x', want: false },
  { message: '', path: '/a/ü', want: true },
  { message: '', path: '/a b/ü', want: false },
  { message: 'File /day%3D1 does not exist.', path: '/day=1', want: false },
  { message: 'File /t/day=1 does not exist.', path: '/t/day=1', want: true },
  { message: 'File does not exist: /a', path: '/a;b', want: false },
])('"$message" names the path $path: $want', ({ message, path, want }) => {
  expect(namesPath(message, path)).toBe(want)
})

test.each([
  { message: 'The catalog is not an iceberg rest catalog', want: true },
  { message: 'no table The catalog is not an iceberg rest catalog', want: false },
  { message: '', want: false },
])('"$message" says that a catalog is external: $want', ({ message, want }) => {
  expect(saysExternalCatalog(message)).toBe(want)
})
