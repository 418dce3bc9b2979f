import { conforms } from './conformance.ts'
import { fhir } from './fhir.scene.ts'

conforms(fhir)
