import { conforms } from './conformance.ts'
import { kobo } from './kobo.scene.ts'

conforms(kobo)
